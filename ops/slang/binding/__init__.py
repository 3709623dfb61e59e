"""Binds the arguments of a call to a specialization: kinds, shapes, layouts, grids."""
