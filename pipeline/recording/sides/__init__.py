"""The results of the two sides of a choice, in a form that both have."""
