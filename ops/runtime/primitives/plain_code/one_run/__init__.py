"""What one run of a block has: the names and guards that it finds, its budget, and its refusals."""
