"""Classes of the user's in blocks of plain Python, and their objects."""
