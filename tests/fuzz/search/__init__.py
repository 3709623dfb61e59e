"""Calls of operators that are searched for: what an operator answers leads to the next call."""
