"""Random processing functions: written, packed, and held against Python."""
