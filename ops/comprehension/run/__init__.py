"""Running a layer: which emitter, which programs, with which gradient."""
