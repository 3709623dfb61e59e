"""What stands for Python's own operations in the code of a recorded function: subscripts, texts, loops, methods."""
