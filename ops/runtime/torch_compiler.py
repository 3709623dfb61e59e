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
