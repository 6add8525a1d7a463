"""What can be attacked, brought into the form that the attacks understand."""
