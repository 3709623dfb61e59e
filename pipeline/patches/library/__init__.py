"""What stands for functions of Python's library, and of packages, in a recorded function."""
