"""What stands for classes of Python's library whose objects a recording follows: dates, decimal numbers."""
