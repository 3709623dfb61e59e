"""What a node of a graph may call."""
