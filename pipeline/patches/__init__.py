"""What is replaced in numpy and in Python while a function is recorded, in this process only."""
