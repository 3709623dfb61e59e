"""Types, errors, devices, the graph, InferenceOp, the lowering of torch modules, kernels and engines."""
