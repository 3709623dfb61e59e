"""What a loop of any length writes in place of a draw of random numbers in it: all of them are drawn before it."""

from __future__ import annotations

from ....ops.graph.graph import Node, Operator

_BEFORE = "Draw them before the loop: noise = {}, and {} for i, x in enumerate(xs)."
_FORMS = {
    "randn": ("torch.randn(len(xs), generator=g)", "noise[i]"),
    "randint": ("torch.randint(low, high, (len(xs),), generator=g)", "int(noise[i])"),
    "multinomial": ("torch.rand(len(xs), generator=g)", "int(torch.searchsorted((x / x.sum()).cumsum(0), noise[i]))"),
}
_PLAIN = ("torch.rand(len(xs), generator=g)", "noise[i]")


def form_of_draw(node: Node | None) -> str:
    """The form for a draw.

    Args:
        node: that draws; None where it is not known.
    """
    found = node.target.name if node is not None and isinstance(node.target, Operator) else ""
    name = str(node.args[1]) if node is not None and found == "py.draw" else found
    return _BEFORE.format(*_FORMS.get(name.rpartition(".")[2].removesuffix("_like"), _PLAIN))
