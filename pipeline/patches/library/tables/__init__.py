"""Tables, lists and arrays that are asked for an entry by what a recording does not know."""
