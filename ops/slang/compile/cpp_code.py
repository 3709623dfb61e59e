"""Completes the C++ that Slang writes: a function to call from Python, faults as results, defined arithmetic."""

from __future__ import annotations

import re

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
__attribute__((unused)) static int tracepack_outside(uint32_t index, uint32_t size) { tracepack_fault(2, index, size); }
#define SLANG_BOUND_CHECK_FIXED_ARRAY(index, count) \\
    if (__builtin_expect((index) >= (count), 0)) tracepack_fault(1, index, count);
"""
_PRELUDE_END = "using namespace SLANG_PRELUDE_NAMESPACE;\n#endif\n"
_ONLY_ONE_EXPORT = """#undef SLANG_PRELUDE_EXPORT
#define SLANG_PRELUDE_EXPORT static
"""
# Slang's prelude has the arithmetic of vectors of float, double and integers only.
_HALF_VECTORS = "".join(
    f"""
template<int N> SLANG_FORCE_INLINE Vector<half, N> operator{op}(const Vector<half, N>& a, const Vector<half, N>& b)
{{ Vector<half, N> r; for (int i = 0; i < N; i++) (&r.x)[i] = (&a.x)[i] {op} (&b.x)[i]; return r; }}"""
    for op in "+-*/"
)
_HALF_VECTORS += """
template<int N> SLANG_FORCE_INLINE Vector<half, N> operator-(const Vector<half, N>& a)
{ Vector<half, N> r; for (int i = 0; i < N; i++) (&r.x)[i] = -(&a.x)[i]; return r; }
"""

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


def _with_whole_division(code: str) -> str:
    """With a quotient and a remainder of whole numbers for every divisor, where the processor would end the process.

    By zero both are zero, and the least number by -1 is the least number with the remainder 0, as in numpy.
    """
    return _WHOLE_DIVISION + _DIVISION.sub(lambda match: _DIVISIONS[match[1]], code) if _DIVISION.search(code) else code


def finish_code(code: str, entry: str) -> tuple[str, str]:
    """Adds the function that is called from Python to the C++ that Slang wrote, and what that lacks.

    The function copies the parameters to its own stack: the compiler then knows that no store of the loop changes them.
    An index outside of a tensor or an array ends it, with the kind of the fault as its result, and the index and the
    size in the place of the first two parameters. It alone is exported: of Slang's own entries, which nobody calls, the
    compiler would write the whole kernel again.

    Returns:
        The head, which is the same for all entries, and the code after it.
    """
    prelude, end, code = code.rpartition(_PRELUDE_END)
    code = _with_whole_division(_EXTREMUM.sub(_extremum, code))
    if "Vector<half" in code or "Vector<_Float16" in code:
        code = _HALF_VECTORS + code
    code = code.replace(f"\nvoid _{entry}(", f"\nstatic void _{entry}(", 1)
    struct = _STRUCT.search(code)
    name = struct[1] if struct else "char"
    head = f"{_HEAD}{_EXTREMUM.sub(_extremum, prelude)}{end}"
    rest = f"""{_ONLY_ONE_EXPORT}{code}
extern "C" __attribute__((visibility("default"))) int tracepack_run(void* parameters)
{{
    {name} local = *({name}*)parameters;
    try {{ _{entry}(nullptr, &local, nullptr); }}
    catch (const TracepackFault& fault) {{
        ((uint64_t*)parameters)[0] = fault.index;
        ((uint64_t*)parameters)[1] = fault.size;
        return fault.kind;
    }}
    return 0;
}}
"""
    return head, rest
