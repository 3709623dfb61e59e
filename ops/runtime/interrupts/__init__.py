"""Undoes changes in torch, in Python and in the user's model after an error or an interrupt at any bytecode."""
