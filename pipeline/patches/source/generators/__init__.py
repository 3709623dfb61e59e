"""Generator functions of the user's as functions that give an iterator over a list of all that they yield."""
