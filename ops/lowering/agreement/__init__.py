"""What a body is held against beyond the example."""
