"""Reading a source: its files, and the parts into which their rows are cut."""
