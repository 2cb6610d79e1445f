"""What is done with a database as a whole: housekeeping and checks, backups, and moves into another one."""
