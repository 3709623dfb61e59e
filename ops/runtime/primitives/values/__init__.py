"""Values of classes of Python's library that a run makes, asks and lets go: dates, decimal numbers."""
