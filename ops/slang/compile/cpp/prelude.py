"""The text with which Slang's C++ begins, without its faults, and with checks of indices."""

from __future__ import annotations

import re

from ...language.errors import SlangCompileError

_EXTREMUM = re.compile(r"::f(max|min)f?\(a, b\)")


def _extremum(match: re.Match[str]) -> str:
    """`fmax` as a choice that keeps its rules for NaN: the library's function has no vector form."""
    return f"((a {'>' if match[1] == 'max' else '<'} b || b != b) ? a : b)"


def without_calls_of_extrema(text: str) -> str:
    """With choices in place of calls of `fmax` and `fmin`."""
    return _EXTREMUM.sub(_extremum, text)


HEAD = """#include <stdint.h>
namespace { struct TracepackFault { int kind; uint64_t index, size; }; }
__attribute__((noinline, cold, noreturn)) static void tracepack_fault(int kind, uint64_t index, uint64_t size)
{
    throw TracepackFault{kind, index, size};
}
__attribute__((unused)) static int tracepack_outside(int64_t index, uint32_t size) { tracepack_fault(2, index, size); }
#define SLANG_BOUND_CHECK_FIXED_ARRAY(index, count) \\
    if (__builtin_expect((index) >= (count), 0)) tracepack_fault(1, index, count);
#define TRACEPACK_INSIDE(index, count) if (__builtin_expect(index >= count, 0)) tracepack_fault(3, index, count);
"""

# Slang's prelude reads and writes a vector's component, and a matrix's row, at any index. Its own loops have constant
# indices, for which the compiler leaves the check out.
_VECTOR = re.compile(r"^struct Vector<T, (?P<size>\d)>\n\{.*?^\};", re.MULTILINE | re.DOTALL)
_COMPONENT = re.compile(r"operator\[\]\(size_t (?:/\*index\*/|index)\)(?P<const> const)? \{ (?P<found>return .*?;) \}")
_ROWS = "    Vector<T, COLS> rows[ROWS];\n"
_NARROW = re.compile(r"(?<=_slang_vector_get_element)(_ptr)?\(([^()]*?)\bint index\)")
_MATRIX = "template<typename T, int ROWS, int COLS>\nstruct Matrix\n"
_CHECKED_ROWS = """template<typename T, int N>
struct TracepackRows
{
    const T& operator[](size_t index) const { TRACEPACK_INSIDE(index, N) return m_rows[index]; }
    T& operator[](size_t index) { TRACEPACK_INSIDE(index, N) return m_rows[index]; }
    T m_rows[N];
};
"""


def _checked_component(vector: re.Match[str]) -> str:
    check = f"operator[](size_t index)\\g<const> {{ TRACEPACK_INSIDE(index, {vector['size']}) \\g<found> }}"
    return _COMPONENT.sub(check, vector[0])


def with_checked_components(prelude: str) -> str:
    """The prelude with a check of each index into a vector or a matrix.

    Raises:
        SlangCompileError: this release of slangpy has another text.
    """
    text = _VECTOR.sub(_checked_component, prelude)
    text = text.replace(_ROWS, "    TracepackRows<Vector<T, COLS>, ROWS> rows;\n")
    text = _NARROW.sub(r"\1(\2size_t index)", text.replace(_MATRIX, _CHECKED_ROWS + _MATRIX))
    if text.count("TRACEPACK_INSIDE") != 10 or text.count("TracepackRows") != 2:
        raise _other_release()
    return text


def _other_release() -> SlangCompileError:
    return SlangCompileError(
        "the C++ prelude of this release of slangpy is not known to tracepack",
        fix="Install a release of slangpy that tracepack knows: pip install 'slangpy>=0.43'.",
    )


# What Slang's prelude lacks or does wrongly: `-m` of a matrix does not compile, half has the operators of scalars only,
# bool none of matrices, and `round` goes away from zero, where HLSL, Vulkan and torch take the even one of two numbers.
# The inverse hyperbolic functions of double are declared only, and log10 of one takes a float.
_FAULTS = {
    "result[i].rows[i][j] = op thisVal.rows[i][j];": "result.rows[i][j] = op thisVal.rows[i][j];",
    "SLANG_FLOAT_VECTOR_OPS(double)\n": "SLANG_FLOAT_VECTOR_OPS(double)\nSLANG_FLOAT_VECTOR_OPS(half)\n",
    "SLANG_FLOAT_MATRIX_OPS(double)\n": (
        "SLANG_FLOAT_MATRIX_OPS(double)\nSLANG_FLOAT_MATRIX_OPS(half)\nSLANG_INT_MATRIX_OPS(bool)\n"
    ),
    "    half operator+(half other) const {": (  # of a compiler that has no half, such as clang 14
        "    half operator-() const { return half(-load()); }\n    half operator+(half other) const {"
    ),
    "return ::roundf(f);": "return ::rintf(f);",
    "return ::round(f);": "return ::rint(f);",
    "SLANG_FORCE_INLINE double F64_log10(float f)": (
        "".join(
            f"SLANG_FORCE_INLINE double F64_{name}(double f)\n{{\n    return ::{name}(f);\n}}\n"
            for name in ("asinh", "acosh", "atanh")
        )
        + "SLANG_FORCE_INLINE double F64_log10(double f)"
    ),
}


def mended(prelude: str) -> str:
    """The prelude without its faults.

    Raises:
        SlangCompileError: this release of slangpy has another text.
    """
    for old, new in _FAULTS.items():
        if old not in prelude:
            raise _other_release()
        prelude = prelude.replace(old, new)
    return prelude


TEXTS = (HEAD, _CHECKED_ROWS, _FAULTS)
"""All that may be added, for the keys of compiled libraries."""
