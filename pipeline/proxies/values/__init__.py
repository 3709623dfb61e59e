"""Stand-ins for values of classes of Python's library: dates, decimal numbers."""
