"""Lists of any length and constant tables in a recorded function: loops, `map` and `lookup`."""
