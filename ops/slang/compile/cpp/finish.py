"""Completes the C++ that Slang writes: a function to call from Python, faults as results, defined arithmetic."""

from __future__ import annotations

import re

from ....kernels import cache as disk
from ...language.errors import SlangCompileError
from . import double_constants, operators
from . import prelude as preludes
from .double_constants import with_double_constants
from .operators import with_masked_shifts, with_small_types, with_whole_division
from .prelude import HEAD, mended, with_checked_components, without_calls_of_extrema

_GLOBALS = re.compile(r"^struct GlobalParams_\d+\n\{\n(?P<body>.*?)^\};", re.MULTILINE | re.DOTALL)
_CONTEXT = re.compile(r"^struct KernelContext_\d+\n\{\n(?P<body>.*?)^\};", re.MULTILINE | re.DOTALL)
_MEMBER = re.compile(r"^ +(?P<type>.+?)(?P<pointer> *\*)? *\b(?P<name>\w+?)(?P<number>_\d+)?;$", re.MULTILINE)
_MADE_CONTEXT = re.compile(r"^( +KernelContext_\d+ kernelContext_\d+);$", re.MULTILINE)
_STRUCT = re.compile(r"^struct (EntryPointParams_\d+)\s*$", re.MULTILINE)

_PRELUDE_END = "using namespace SLANG_PRELUDE_NAMESPACE;\n#endif\n"
_ONLY_ONE_EXPORT = """#undef SLANG_PRELUDE_EXPORT
#define SLANG_PRELUDE_EXPORT static
"""
CHANGES = disk.key(*double_constants.TEXTS, *operators.TEXTS, *preludes.TEXTS)
"""A hash of what is added to the C++, for the keys of compiled libraries."""

_EACH = "for (uint64_t *r = (uint64_t*)&local, i = r[0], end = r[1]; i < end; i++) if ((r[0] = i, r[1] = i + 1)) "


def check_globals(code: str, where: str) -> None:
    """Refuses C++ that uses something global for which a call has no value.

    Raises:
        SlangCompileError: it does.
    """
    written = code.rpartition(_PRELUDE_END)[2]
    parameters, context = _GLOBALS.search(written), _CONTEXT.search(written)
    if parameters:
        names = " and ".join(repr(member["name"]) for member in _MEMBER.finditer(parameters["body"]))
        raise SlangCompileError(
            f"{where} uses the global parameter {names}, for which a call has no value",
            fix="Make it a parameter of the function, or `static const` where it is a constant.",
        )
    for member in _MEMBER.finditer(context["body"]) if context else ():
        if member["pointer"]:
            raise SlangCompileError(
                f"{where} uses {member['name']!r}, which is groupshared, or a pointer",
                fix="What the threads of a group share or do together is left out: take a whole tensor, and index it.",
            )
    if re.search(r"\bprintf\(", written):
        raise SlangCompileError(f"{where} prints, and a kernel cannot", fix="Return the value, and print it in Python.")


def _has_state(written: str) -> bool:
    """Whether some `static` variable is written, other than where it is made."""
    context = _CONTEXT.search(written)
    for member in _MEMBER.finditer(context["body"]) if context else ():
        name = f"->{member['name']}{member['number'] or ''}\\b"
        stores = len(re.findall(rf"{name}[^\n;=]* = ", written))
        if stores > 1 or re.search(rf"&[^\n;,&]*{name}", written):
            return True
    return False


def finish_code(code: str, entry: str, bounds: bool = True) -> tuple[str, str]:
    """Adds the function that is called from Python to the C++ that Slang wrote, and what that lacks.

    The function copies the parameters to its own stack: the compiler then knows that no store of the loop changes them.
    An index outside of a tensor or an array ends it, with the kind of the fault as its result, and the index and the
    size in the place of the first two parameters. It alone is exported: of Slang's own entries, which nobody calls, the
    compiler would write the whole kernel again. Each element has `static` variables of its own, which the entry makes:
    where some are written, the entry is called for each element.

    Args:
        code: the C++ that Slang wrote.
        entry: the name of its entry point.
        bounds: whether the indices into vectors and matrices are checked; those into arrays are, always.

    Returns:
        The head, which is the same for all entries, and the code after it.
    """
    prelude, end, code = code.rpartition(_PRELUDE_END)
    prelude = mended(with_checked_components(prelude) if bounds else prelude)
    each = _EACH if _has_state(code) else ""
    code = with_whole_division(without_calls_of_extrema(_MADE_CONTEXT.sub(r"\1 = {};", code)))
    code = with_double_constants(with_small_types(with_masked_shifts(code)))
    code = code.replace(f"\nvoid _{entry}(", f"\nstatic void _{entry}(", 1)
    struct = _STRUCT.search(code)
    name = struct[1] if struct else "char"
    head = f"{HEAD}{without_calls_of_extrema(prelude)}{end}"
    rest = f"""{_ONLY_ONE_EXPORT}{code}
extern "C" __attribute__((visibility("default"))) int tracepack_run(void* parameters)
{{
    {name} local = *({name}*)parameters;
    try {{ {each}_{entry}(nullptr, &local, nullptr); }}
    catch (const TracepackFault& fault) {{
        ((uint64_t*)parameters)[0] = fault.index;
        ((uint64_t*)parameters)[1] = fault.size;
        return fault.kind;
    }}
    return 0;
}}
"""
    return head, rest
