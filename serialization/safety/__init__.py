"""What protects from files that others wrote: one kind of error, limits, signatures."""
