"""Limits for files that are not trusted: the operators they may call, arguments, sizes of numbers, and budgets."""
