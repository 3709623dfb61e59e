"""Whether torch exports or compiles what this thread runs: its own flags are set for all threads."""

from __future__ import annotations

import torch

_C = torch._C


def is_traced_here() -> bool:
    """Whether a tracer of torch's compiler watches this thread; asked where `torch.compiler` says that one runs."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return bool(_C._len_torch_dispatch_stack() or _C._dispatch_tls_is_dispatch_key_included(_C.DispatchKey.PreDispatch))


def exports_here() -> bool:
    """Whether torch.export runs in this thread."""
    return torch.compiler.is_exporting() and is_traced_here()


def _is_one_graph() -> bool:
    """Whether torch.compile must make one graph of all (`fullgraph=True`): its compiler asks while it compiles."""
    from torch._dynamo import symbolic_convert

    running = symbolic_convert.InstructionTranslator.current_tx()
    return any(getattr(running, name, False) for name in ("one_graph", "error_on_graph_break"))


# What torch.compiler.assume_constant_result does, without its import of torch._dynamo (1 s).
_is_one_graph._dynamo_marked_constant = True  # type: ignore[attr-defined]  # a mark that torch looks for


def takes_control_flow() -> bool:
    """Whether choices and loops on data must be torch's own operators, since the graph of the caller cannot be cut."""
    if torch.compiler.is_dynamo_compiling():
        return torch.compiler.is_exporting() or _is_one_graph()
    return exports_here()
