"""What to write in place of code that cannot be recorded."""
