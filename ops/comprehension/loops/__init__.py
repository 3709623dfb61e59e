"""Loop nests: what the emitters of code start from."""
