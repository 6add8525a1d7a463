"""What can be attacked, brought into the form that the attacks understand: release folders, linear systems, services, web servers."""
