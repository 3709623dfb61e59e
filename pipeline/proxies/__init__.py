"""The stand-ins for values that a recorded function sees."""
