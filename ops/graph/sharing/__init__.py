"""What shares memory with what, and what a node writes to."""
