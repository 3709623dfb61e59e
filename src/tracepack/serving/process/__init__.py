"""The processes of ``tracepack serve``: one server, or a supervisor of several that share a port."""
