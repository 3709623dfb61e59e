"""The operators that a graph may name, with the grade of each; what they call is in `runtime.primitives`."""
