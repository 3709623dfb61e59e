"""What torch does with the data of a region, and other runtimes do otherwise."""
