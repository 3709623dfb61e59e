"""Tensor comprehensions: layers written as index notation, trained, tuned and packed."""
