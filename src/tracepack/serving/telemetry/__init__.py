"""What a server says of its requests: metrics for Prometheus, a line of log each, spans of OpenTelemetry."""
