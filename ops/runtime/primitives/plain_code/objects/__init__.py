"""Objects of a block of plain Python: what stands for the instances and the names of the user's classes in it."""
