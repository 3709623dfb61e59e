"""Completes the C++ that Slang writes: a function to call from Python, faults as results, defined arithmetic."""

from __future__ import annotations

import re

from ...kernels import cache as disk
from ..language.errors import SlangCompileError

_GLOBALS = re.compile(r"^struct GlobalParams_\d+\n\{\n(?P<body>.*?)^\};", re.MULTILINE | re.DOTALL)
_CONTEXT = re.compile(r"^struct KernelContext_\d+\n\{\n(?P<body>.*?)^\};", re.MULTILINE | re.DOTALL)
_MEMBER = re.compile(r"^ +(?P<type>.+?)(?P<pointer> *\*)? *\b(?P<name>\w+?)(?P<number>_\d+)?;$", re.MULTILINE)
_MADE_CONTEXT = re.compile(r"^( +KernelContext_\d+ kernelContext_\d+);$", re.MULTILINE)
_STRUCT = re.compile(r"^struct (EntryPointParams_\d+)\s*$", re.MULTILINE)
_EXTREMUM = re.compile(r"::f(max|min)f?\(a, b\)")


def _extremum(match: re.Match[str]) -> str:
    """`fmax` as a choice that keeps its rules for NaN: the library's function has no vector form."""
    return f"((a {'>' if match[1] == 'max' else '<'} b || b != b) ? a : b)"


_HEAD = """#include <stdint.h>
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


def _with_checked_components(prelude: str) -> str:
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


_PRELUDE_END = "using namespace SLANG_PRELUDE_NAMESPACE;\n#endif\n"
_ONLY_ONE_EXPORT = """#undef SLANG_PRELUDE_EXPORT
#define SLANG_PRELUDE_EXPORT static
"""
# What Slang's prelude lacks or does wrongly: `-m` of a matrix does not compile, half has the operators of scalars only,
# bool none of matrices, and `round` goes away from zero, where HLSL, Vulkan and torch take the even one of two numbers.
_FAULTS = {
    "result[i].rows[i][j] = op thisVal.rows[i][j];": "result.rows[i][j] = op thisVal.rows[i][j];",
    "SLANG_FLOAT_VECTOR_OPS(double)\n": "SLANG_FLOAT_VECTOR_OPS(double)\nSLANG_FLOAT_VECTOR_OPS(half)\n",
    "SLANG_FLOAT_MATRIX_OPS(double)\n": (
        "SLANG_FLOAT_MATRIX_OPS(double)\nSLANG_FLOAT_MATRIX_OPS(half)\nSLANG_INT_MATRIX_OPS(bool)\n"
    ),
    "return ::roundf(f);": "return ::rintf(f);",
    "return ::round(f);": "return ::rint(f);",
}


def _mended(prelude: str) -> str:
    """The prelude without its faults.

    Raises:
        SlangCompileError: this release of slangpy has another text.
    """
    for old, new in _FAULTS.items():
        if old not in prelude:
            raise _other_release()
        prelude = prelude.replace(old, new)
    return prelude


# `a / b` becomes `a / tracepack_divide / b`: an operator of ours with the place of `/` and `%` in the grammar, so that
# no expression has to be parsed. Only whole numbers take another way than before.
_DIVISION = re.compile(r" ([/%]) (?!=)")
_DIVISIONS = {"/": " / tracepack_divide / ", "%": " / tracepack_remainder / "}
_WHOLE_DIVISION = """
#include <limits>
#include <type_traits>
#define TRACEPACK_INLINE __attribute__((always_inline)) inline
struct TracepackDivide
{
    template<typename T> static TRACEPACK_INLINE T whole(T a, T b)
    {
        typedef typename std::make_unsigned<T>::type U;
        if (b == 0) return 0;
        return std::is_signed<T>::value && b == T(-1) ? T(U(0) - U(a)) : T(a / b);
    }
    template<typename A, typename B> static TRACEPACK_INLINE auto other(const A& a, const B& b) -> decltype(a / b)
    { return a / b; }
};
struct TracepackRemainder
{
    template<typename T> static TRACEPACK_INLINE T whole(T a, T b)
    {
        return b == 0 || (std::is_signed<T>::value && b == T(-1)) ? T(0) : T(a % b);
    }
    template<typename A, typename B> static TRACEPACK_INLINE auto other(const A& a, const B& b) -> decltype(a % b)
    { return a % b; }
};
template<typename Op, typename T> struct TracepackDividend { const T& value; };
template<typename T> TRACEPACK_INLINE TracepackDividend<TracepackDivide, T> operator/(const T& a, TracepackDivide)
{ return {a}; }
template<typename T> TRACEPACK_INLINE TracepackDividend<TracepackRemainder, T> operator/(const T& a, TracepackRemainder)
{ return {a}; }
template<typename A, typename B> struct TracepackWhole
{ static const bool value = std::is_integral<A>::value && std::is_integral<B>::value; };
template<typename Op, typename A, typename B>
TRACEPACK_INLINE typename std::enable_if<TracepackWhole<A, B>::value, decltype(A() / B())>::type
operator/(const TracepackDividend<Op, A>& a, const B& b)
{ typedef decltype(A() / B()) T; return Op::template whole<T>(T(a.value), T(b)); }
template<typename Op, typename A, typename B>
TRACEPACK_INLINE auto operator/(const TracepackDividend<Op, A>& a, const B& b)
    -> typename std::enable_if<!TracepackWhole<A, B>::value, decltype(Op::other(a.value, b))>::type
{ return Op::other(a.value, b); }
template<typename Op, typename T, int N>
TRACEPACK_INLINE typename std::enable_if<std::is_integral<T>::value, Vector<T, N>>::type
operator/(const TracepackDividend<Op, Vector<T, N>>& a, const Vector<T, N>& b)
{
    Vector<T, N> r;
    for (int i = 0; i < N; i++) r[i] = T(TracepackDividend<Op, T>{a.value[i]} / b[i]);
    return r;
}
template<typename Op, typename T, int R, int C>
TRACEPACK_INLINE typename std::enable_if<std::is_integral<T>::value, Matrix<T, R, C>>::type
operator/(const TracepackDividend<Op, Matrix<T, R, C>>& a, const Matrix<T, R, C>& b)
{
    Matrix<T, R, C> r;
    for (int i = 0; i < R; i++) r.rows[i] = TracepackDividend<Op, Vector<T, C>>{a.value.rows[i]} / b.rows[i];
    return r;
}
static constexpr TracepackDivide tracepack_divide = {};
static constexpr TracepackRemainder tracepack_remainder = {};
"""


# In C++ a sum of two int8_t is an int, and in Slang an int8_t: what goes on with the sum, such as a comparison, a shift
# or a conversion, would see bits that Slang cuts off. A class in place of the small types keeps them cut.
_SMALL = re.compile(r"\bu?int(?:8|16)_t\b")
_SMALL_TYPES = """
template<typename T> struct TracepackSmall
{
    T value;
    TracepackSmall() = default;
    template<typename U> SLANG_FORCE_INLINE TracepackSmall(U from) : value(T(from)) {}
    SLANG_FORCE_INLINE operator T() const { return value; }
};
template<typename T> SLANG_FORCE_INLINE TracepackSmall<T> operator-(TracepackSmall<T> a) { return -a.value; }
template<typename T> SLANG_FORCE_INLINE TracepackSmall<T> operator~(TracepackSmall<T> a) { return ~a.value; }
template<typename T, int N>
SLANG_FORCE_INLINE Vector<TracepackSmall<T>, N> operator-(const Vector<TracepackSmall<T>, N>& a)
{ Vector<TracepackSmall<T>, N> r; for (int i = 0; i < N; i++) r[i] = -a[i]; return r; }
template<typename T, int N>
SLANG_FORCE_INLINE Vector<TracepackSmall<T>, N> operator~(const Vector<TracepackSmall<T>, N>& a)
{ Vector<TracepackSmall<T>, N> r; for (int i = 0; i < N; i++) r[i] = ~a[i]; return r; }
template<typename T, int R, int C>
SLANG_FORCE_INLINE Matrix<TracepackSmall<T>, R, C> operator-(const Matrix<TracepackSmall<T>, R, C>& a)
{ Matrix<TracepackSmall<T>, R, C> r; for (int i = 0; i < R; i++) r[i] = -a[i]; return r; }
#define TRACEPACK_ELEMENTS(result, op) \\
template<typename T, int N> SLANG_FORCE_INLINE Vector<result, N> \\
operator op(const Vector<TracepackSmall<T>, N>& a, const Vector<TracepackSmall<T>, N>& b) \\
{ Vector<result, N> r; for (int i = 0; i < N; i++) r[i] = a[i] op b[i]; return r; } \\
template<typename T, int R, int C> SLANG_FORCE_INLINE Matrix<result, R, C> \\
operator op(const Matrix<TracepackSmall<T>, R, C>& a, const Matrix<TracepackSmall<T>, R, C>& b) \\
{ Matrix<result, R, C> r; for (int i = 0; i < R; i++) r[i] = a[i] op b[i]; return r; }
#define TRACEPACK_SMALL(op, value) \\
template<typename T> SLANG_FORCE_INLINE TracepackSmall<T> operator op(TracepackSmall<T> a, TracepackSmall<T> b) \\
{ return value; } \\
TRACEPACK_ELEMENTS(TracepackSmall<T>, op)
TRACEPACK_SMALL(+, a.value + b.value)
TRACEPACK_SMALL(-, a.value - b.value)
TRACEPACK_SMALL(*, int64_t(a.value) * b.value)
TRACEPACK_SMALL(/, b.value ? a.value / b.value : 0)
TRACEPACK_SMALL(%, b.value ? a.value % b.value : 0)
TRACEPACK_SMALL(&, a.value & b.value)
TRACEPACK_SMALL(|, a.value | b.value)
TRACEPACK_SMALL(^, a.value ^ b.value)
template<typename T, typename U> SLANG_FORCE_INLINE TracepackSmall<T> operator<<(TracepackSmall<T> a, U b)
{ return a.value << int(b); }
TRACEPACK_ELEMENTS(TracepackSmall<T>, <<)
TRACEPACK_ELEMENTS(TracepackSmall<T>, >>)
TRACEPACK_ELEMENTS(bool, <)
TRACEPACK_ELEMENTS(bool, >)
TRACEPACK_ELEMENTS(bool, <=)
TRACEPACK_ELEMENTS(bool, >=)
TRACEPACK_ELEMENTS(bool, ==)
TRACEPACK_ELEMENTS(bool, !=)
"""
for _name, _type in (("I8", "int8_t"), ("U8", "uint8_t"), ("I16", "int16_t"), ("U16", "uint16_t")):
    _SMALL_TYPES += f"""typedef TracepackSmall<{_type}> tracepack_{_type};
SLANG_FORCE_INLINE tracepack_{_type} {_name}_abs(tracepack_{_type} a) {{ return a.value < 0 ? -a.value : a.value; }}
SLANG_FORCE_INLINE tracepack_{_type} {_name}_min(tracepack_{_type} a, tracepack_{_type} b) {{ return a < b ? a : b; }}
SLANG_FORCE_INLINE tracepack_{_type} {_name}_max(tracepack_{_type} a, tracepack_{_type} b) {{ return a > b ? a : b; }}
"""


def _with_small_types(code: str) -> str:
    """With types of 8 and 16 bits whose arithmetic stays in them, where there are any."""
    return _SMALL_TYPES + _SMALL.sub(r"tracepack_\g<0>", code) if _SMALL.search(code) else code


CHANGES = disk.key(_SMALL_TYPES, _HEAD, _CHECKED_ROWS, _FAULTS, _WHOLE_DIVISION)
"""A hash of what is added to the C++, for the keys of compiled libraries."""

_EACH = "for (uint64_t *r = (uint64_t*)&local, i = r[0], end = r[1]; i < end; i++) if ((r[0] = i, r[1] = i + 1)) "


def _with_whole_division(code: str) -> str:
    """With a quotient and a remainder of whole numbers for every divisor, where the processor would end the process.

    By zero both are zero, and the least number by -1 is the least number with the remainder 0, as in numpy.
    """
    return _WHOLE_DIVISION + _DIVISION.sub(lambda match: _DIVISIONS[match[1]], code) if _DIVISION.search(code) else code


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
    prelude = _mended(_with_checked_components(prelude) if bounds else prelude)
    each = _EACH if _has_state(code) else ""
    code = _with_whole_division(_EXTREMUM.sub(_extremum, _MADE_CONTEXT.sub(r"\1 = {};", code)))
    code = _with_small_types(code)
    code = code.replace(f"\nvoid _{entry}(", f"\nstatic void _{entry}(", 1)
    struct = _STRUCT.search(code)
    name = struct[1] if struct else "char"
    head = f"{_HEAD}{_EXTREMUM.sub(_extremum, prelude)}{end}"
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
