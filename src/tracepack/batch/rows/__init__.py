"""The rows of a part: columns to inputs, runs, answers to columns."""
