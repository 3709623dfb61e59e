"""Arrays of numpy in blocks of plain Python."""
