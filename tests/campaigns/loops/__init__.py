"""Random plain loops over lists and rows, held against Python."""
