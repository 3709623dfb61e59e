"""What answers calls of a pipeline in which arguments are left out."""
