"""What a recording notes of its loops over lists of any length."""
