"""gRPC: the service ``inference.GRPCInferenceService`` of the Open Inference Protocol, and Triton's stream of it."""
