"""Operators of Slang in place of those of C++: defined quotients and shifts, small whole numbers that stay small.

`a / b` becomes `a / tracepack_divide / b`: an operator of ours with the place of the first in the grammar, so that no
expression has to be parsed.
"""

from __future__ import annotations

import re

# Only whole numbers take another way than before.
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
template<typename T> SLANG_FORCE_INLINE TracepackSmall<T> operator<<(TracepackSmall<T> a, int b)
{ return a.value << b; }
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


def with_small_types(code: str) -> str:
    """With types of 8 and 16 bits whose arithmetic stays in them, where there are any."""
    return _SMALL_TYPES + _SMALL.sub(r"tracepack_\g<0>", code) if _SMALL.search(code) else code


# The same for `<<` and `>>`: a shift by as many bits as there are, or more, has any value in C++, another one in a
# vector of the processor than alone. HLSL takes the lowest bits of the count, as most processors do.
_SHIFT = re.compile(r" (<<|>>) (?!=)(?!int\([0-7]\))")
_SHIFTS = {"<<": " << tracepack_left << ", ">>": " >> tracepack_right >> "}
_MASKED_SHIFTS = """
#include <type_traits>
template<typename A, bool whole = std::is_integral<A>::value> struct TracepackShift
{ static SLANG_FORCE_INLINE A left(const A& a, int n) { return a << n; } };
template<typename A> struct TracepackShift<A, true>
{ static SLANG_FORCE_INLINE A left(A a, int n) { return A(typename std::make_unsigned<A>::type(a) << n); } };
struct TracepackLeft
{
    template<typename A, typename B> static SLANG_FORCE_INLINE A of(const A& a, const B& b)
    { return TracepackShift<A>::left(a, int(b) & (8 * sizeof(A) - 1)); }
};
struct TracepackRight
{
    template<typename A, typename B> static SLANG_FORCE_INLINE A of(const A& a, const B& b)
    { return a >> (int(b) & (8 * sizeof(A) - 1)); }
};
template<typename Op, typename A> struct TracepackShifted { const A& value; };
template<typename Op, typename A, typename B, int N>
SLANG_FORCE_INLINE Vector<A, N> tracepack_shift(const Vector<A, N>& a, const Vector<B, N>& b)
{ Vector<A, N> r; for (int i = 0; i < N; i++) r[i] = Op::of(a[i], b[i]); return r; }
template<typename Op, typename A, typename B, int R, int C>
SLANG_FORCE_INLINE Matrix<A, R, C> tracepack_shift(const Matrix<A, R, C>& a, const Matrix<B, R, C>& b)
{ Matrix<A, R, C> r; for (int i = 0; i < R; i++) r[i] = tracepack_shift<Op>(a[i], b[i]); return r; }
template<typename Op, typename A, typename B> SLANG_FORCE_INLINE A tracepack_shift(const A& a, const B& b)
{ return Op::of(a, b); }
#define TRACEPACK_SHIFT(op, Op, name) \\
template<typename A> SLANG_FORCE_INLINE TracepackShifted<Op, A> operator op(const A& a, Op) { return {a}; } \\
template<typename A, typename B> SLANG_FORCE_INLINE A operator op(const TracepackShifted<Op, A>& a, const B& b) \\
{ return tracepack_shift<Op>(a.value, b); } \\
static constexpr Op name = {};
TRACEPACK_SHIFT(<<, TracepackLeft, tracepack_left)
TRACEPACK_SHIFT(>>, TracepackRight, tracepack_right)
"""


def with_masked_shifts(code: str) -> str:
    """With a value for each shift whose count is not a small constant."""
    return _MASKED_SHIFTS + _SHIFT.sub(lambda match: _SHIFTS[match[1]], code) if _SHIFT.search(code) else code


def with_whole_division(code: str) -> str:
    """With a quotient and a remainder of whole numbers for every divisor, where the processor would end the process.

    By zero both are zero, and the least number by -1 is the least number with the remainder 0, as in numpy.
    """
    return _WHOLE_DIVISION + _DIVISION.sub(lambda match: _DIVISIONS[match[1]], code) if _DIVISION.search(code) else code


TEXTS = (_WHOLE_DIVISION, _SMALL_TYPES, _MASKED_SHIFTS)
"""All that may be added, for the keys of compiled libraries."""
