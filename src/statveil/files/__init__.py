"""Safe files from job to folder: release, report, job file."""
