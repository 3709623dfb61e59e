"""The tables in which torch's compiler looks functions up by identity.

It makes them when they are first needed. In a recording some functions are replaced, and tables made there would hold
the replacements for as long as the process lives: what is compiled later would not know `torch.is_grad_enabled`.
"""

from __future__ import annotations

from functools import cache


@cache
def make_compiler_tables() -> None:
    """Makes them from the originals; to be called before a recording replaces anything.

    Recording an operator imports the compiler in any case, so this costs a trace nothing but the order.
    """
    from torch._dynamo import trace_rules
    from torch._dynamo.variables.misc import get_np_to_tnp_map
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    TorchInGraphFunctionVariable._get_handlers()
    trace_rules.get_torch_obj_rule_map()
    trace_rules.get_tensor_method()
    get_np_to_tnp_map()
