"""The Open Inference Protocol v2 as data: datatypes, requests and responses, as JSON, bytes and protobuf."""
