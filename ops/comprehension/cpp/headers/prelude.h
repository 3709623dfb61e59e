// The fixed head of generated C++; see cpp_prelude.py, which adds the declarations of math functions.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
template <class T, int L> struct VecOf { typedef T type __attribute__((vector_size(L * sizeof(T)))); };
template <class T, int L> using Vec = typename VecOf<T, L>::type;
#define INL static inline __attribute__((always_inline))
#define COMMA ,
// A loop over lanes is written out before anything else is done with the vector, which else would lie in memory.
#if defined(__clang__)
#define EACH_LANE for (int i = 0; i < L; i++)
#else
#define EACH_LANE _Pragma("GCC unroll 64") for (int i = 0; i < L; i++)
#endif
#define INL_MEMBER inline __attribute__((always_inline))
#ifdef _OPENMP
extern "C" int omp_get_max_threads(void);
static inline int at_most(int wanted) { // threads of torch's, all of them for 0
  const int there = omp_get_max_threads();
  return wanted > 0 && wanted < there ? wanted : there;
}
#endif

template <class T, int L> INL Vec<T, L> splat(T s) { return s - Vec<T, L>{}; }
template <class T, int L> INL Vec<T, L> iota(T s) { Vec<T, L> r; EACH_LANE r[i] = (T)(s + i); return r; }
template <class M, int L> INL Vec<M, L> splat_mask(bool b) { return splat<M, L>((M)(b ? -1 : 0)); }

// The upper half of a float, rounded to even.
struct bf16 {
  uint16_t bits;
  bf16() = default;
  INL_MEMBER explicit bf16(float a) {
    uint32_t b; __builtin_memcpy(&b, &a, 4);
    bits = a != a ? 0x7fc0 : (uint16_t)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  }
  INL_MEMBER operator float() const { const uint32_t b = (uint32_t)bits << 16; float a; __builtin_memcpy(&a, &b, 4); return a; }
};
template <class S, int L> INL Vec<float, L> rounded(Vec<float, L> a) {
  Vec<float, L> r; EACH_LANE r[i] = (float)(S)a[i]; return r;
}

// Memory. N is how many lanes are wanted, L when all are.
template <class S, class T, int L> INL Vec<T, L> load(const S* p) {
  if constexpr (__is_same(S, T)) { Vec<T, L> r; __builtin_memcpy(&r, p, sizeof r); return r; }
  else { Vec<T, L> r; EACH_LANE r[i] = (T)p[i]; return r; }
}
template <class S, class T, int L> INL void store(S* p, Vec<T, L> v) {
  if constexpr (__is_same(S, T)) __builtin_memcpy(p, &v, sizeof v);
  else EACH_LANE p[i] = (S)v[i];
}
template <class S, class T, int L> INL Vec<T, L> load_strided(const S* p, int64_t step, int n) {
  Vec<T, L> r{}; EACH_LANE if (i < n) r[i] = (T)p[i * step]; return r;
}
template <class S, class T, int L> INL void store_strided(S* p, int64_t step, int n, Vec<T, L> v) {
  EACH_LANE if (i < n) p[i * step] = (S)v[i];
}
template <class S, class T, int L> INL Vec<T, L> load_first(const S* p, int n) {
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 16)
    return (Vec<T, L>)__builtin_ia32_loadups512_mask((const float*)p, Vec<float, 16>{}, (uint16_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 8)
    return (Vec<T, L>)__builtin_ia32_loadupd512_mask((const double*)p, Vec<double, 8>{}, (uint8_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 8)
    return (Vec<T, L>)__builtin_ia32_loadups256_mask((const float*)p, Vec<float, 8>{}, (uint8_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 4)
    return (Vec<T, L>)__builtin_ia32_loadupd256_mask((const double*)p, Vec<double, 4>{}, (uint8_t)((1u << n) - 1));
  else
#endif
  { Vec<T, L> r{}; EACH_LANE if (i < n) r[i] = (T)p[i]; return r; }
}
template <class S, class T, int L> INL void store_first(S* p, int n, Vec<T, L> v) {
#if defined(__AVX512VL__) && defined(__AVX512BW__) && !defined(__clang__)
  if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 16)
    __builtin_ia32_storeups512_mask((float*)p, (Vec<float, 16>)v, (uint16_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 8)
    __builtin_ia32_storeupd512_mask((double*)p, (Vec<double, 8>)v, (uint8_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 8)
    __builtin_ia32_storeups256_mask((float*)p, (Vec<float, 8>)v, (uint8_t)((1u << n) - 1));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 4)
    __builtin_ia32_storeupd256_mask((double*)p, (Vec<double, 4>)v, (uint8_t)((1u << n) - 1));
  else
#endif
  EACH_LANE if (i < n) p[i] = (S)v[i];
}
template <class S, class T, int L, class M> INL Vec<T, L> load_where(const S* p, Vec<M, L> m) {
#if defined(__AVX512VL__) && defined(__AVX512DQ__) && !defined(__clang__)
  if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 16 && sizeof(M) == 4)
    return (Vec<T, L>)__builtin_ia32_loadups512_mask((const float*)p, Vec<float, 16>{}, __builtin_ia32_cvtd2mask512((Vec<int, 16>)m));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 8 && sizeof(M) == 8)
    return (Vec<T, L>)__builtin_ia32_loadupd512_mask((const double*)p, Vec<double, 8>{}, __builtin_ia32_cvtq2mask512((Vec<long long, 8>)m));
  else if constexpr (__is_same(S, T) && sizeof(T) == 4 && L == 8 && sizeof(M) == 4)
    return (Vec<T, L>)__builtin_ia32_loadups256_mask((const float*)p, Vec<float, 8>{}, __builtin_ia32_cvtd2mask256((Vec<int, 8>)m));
  else if constexpr (__is_same(S, T) && sizeof(T) == 8 && L == 4 && sizeof(M) == 8)
    return (Vec<T, L>)__builtin_ia32_loadupd256_mask((const double*)p, Vec<double, 4>{}, __builtin_ia32_cvtq2mask256((Vec<long long, 4>)m));
  else
#endif
  { Vec<T, L> r{}; EACH_LANE if (m[i]) r[i] = (T)p[i]; return r; }
}
template <class S, class T, int L, class M> INL Vec<T, L> gather_where(const S* p, Vec<int64_t, L> at, Vec<M, L> m) {
  Vec<T, L> r{}; EACH_LANE if (m[i]) r[i] = (T)p[at[i]]; return r;
}
template <class S, class T, int L> INL Vec<T, L> gather(const S* p, Vec<int64_t, L> at, int n) {
  Vec<T, L> r{}; EACH_LANE if (i < n) r[i] = (T)p[at[i]]; return r;
}

// One packing buffer for each thread and operand; it grows and is kept, so that a call does not allocate.
static void* scratch(size_t bytes, int number) {
  static thread_local struct Buffers { void* at[8] = {}; size_t size[8] = {};
    ~Buffers() { for (void* p : at) free(p); } } buffers;
  if (buffers.size[number] < bytes) {
    free(buffers.at[number]);
    buffers.at[number] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    buffers.size[number] = bytes;
  }
  return buffers.at[number];
}

// Indices that have to be tested: outside becomes 0 and is reported, or is clamped.
INL int64_t tested(int64_t i, int64_t size, int id, volatile int64_t* bad) {
  if (__builtin_expect((uint64_t)i >= (uint64_t)size, 0)) { *bad = id; return 0; }
  return i;
}
INL int64_t clamped(int64_t i, int64_t size) { return i < 0 ? 0 : i >= size ? size - 1 : i; }
template <class M, int L> INL bool any_of(Vec<M, L> m) { M r = 0; EACH_LANE r |= m[i]; return r != 0; }
template <int L, class M> INL Vec<int64_t, L> tested_lanes(Vec<int64_t, L> at, Vec<M, L> m, int64_t size, int id, volatile int64_t* bad) {
  EACH_LANE at[i] = m[i] ? tested(at[i], size, id, bad) : 0;
  return at;
}
template <int L> INL Vec<int64_t, L> clamped_lanes(Vec<int64_t, L> at, int64_t size) {
  EACH_LANE at[i] = clamped(at[i], size);
  return at;
}

// Selection, extremes, reductions within a vector.
template <class T> INL T smax(T a, T b) { return (a > b || a != a) ? a : b; }
template <class T> INL T smin(T a, T b) { return (a < b || a != a) ? a : b; }
template <class V> INL V vmax(V a, V b) { return ((a > b) | (a != a)) ? a : b; }
template <class V> INL V vmin(V a, V b) { return ((a < b) | (a != a)) ? a : b; }
#if defined(__AVX512F__) && !defined(__clang__)
// The processor gives the second operand when either is NaN: a NaN in b is taken, one in a is kept by the mask.
#define EXTREME(name, V, cmp, op, M) template <> inline __attribute__((always_inline)) V name(V a, V b) { return (V)op(a, b, a, cmp(a, a, 7, (M)-1, 4), 4); }
EXTREME(vmax, VecOf<float COMMA 16>::type, __builtin_ia32_cmpps512_mask, __builtin_ia32_maxps512_mask, uint16_t)
EXTREME(vmin, VecOf<float COMMA 16>::type, __builtin_ia32_cmpps512_mask, __builtin_ia32_minps512_mask, uint16_t)
EXTREME(vmax, VecOf<double COMMA 8>::type, __builtin_ia32_cmppd512_mask, __builtin_ia32_maxpd512_mask, uint8_t)
EXTREME(vmin, VecOf<double COMMA 8>::type, __builtin_ia32_cmppd512_mask, __builtin_ia32_minpd512_mask, uint8_t)
#define NARROW(name, V, cmp, op) template <> inline __attribute__((always_inline)) V name(V a, V b) { return (V)op(a, b, a, cmp(a, a, 7, (uint8_t)-1)); }
NARROW(vmax, VecOf<float COMMA 8>::type, __builtin_ia32_cmpps256_mask, __builtin_ia32_maxps256_mask)
NARROW(vmin, VecOf<float COMMA 8>::type, __builtin_ia32_cmpps256_mask, __builtin_ia32_minps256_mask)
NARROW(vmax, VecOf<double COMMA 4>::type, __builtin_ia32_cmppd256_mask, __builtin_ia32_maxpd256_mask)
NARROW(vmin, VecOf<double COMMA 4>::type, __builtin_ia32_cmppd256_mask, __builtin_ia32_minpd256_mask)
#endif
// A division by what all lanes share is a multiplication by its inverse (within 1.5 ulp), unless that leaves the range.
template <class V, class T> INL V divided(V a, T b) {
  const T inverse = (T)1 / b;
  if (__builtin_expect(__builtin_isnormal(inverse) && __builtin_isnormal(b), 1)) return a * (inverse - V{});
  return a / (b - V{});
}
template <class T> INL T sfmax(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b; }
template <class T> INL T sfmin(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b; }
template <class V> INL V vfmax(V a, V b) { return (a != a) ? b : ((a > b) | (b != b)) ? a : b; }
template <class V> INL V vfmin(V a, V b) { return (a != a) ? b : ((a < b) | (b != b)) ? a : b; }

// Floats as integers: what no int32 or int64 holds becomes the least one, as the processor's own conversion has it, and
// narrower types take the low bits. C++ leaves it undefined, and a compiler may fold it to anything.
template <class T, class F> INL T whole(F a) {
  constexpr bool narrow = sizeof(T) < 4, wide = sizeof(T) == 8, plain = (T)-1 < (T)0;
  if constexpr (wide && !plain) if (a >= (F)9223372036854775808.0 && a < (F)18446744073709551616.0) return (T)a;
  if constexpr (narrow || (plain && !wide)) return (T)(a >= (F)-2147483648.0 && a < (F)2147483648.0 ? (int32_t)a : INT32_MIN);
  else return (T)(a >= (F)-9223372036854775808.0 && a < (F)9223372036854775808.0 ? (int64_t)a : INT64_MIN);
}
template <class T, class F, int L> INL Vec<T, L> whole_lanes(Vec<F, L> a) {
  if constexpr (sizeof(T) >= 4 && (T)-1 < (T)0) {
    const F top = sizeof(T) == 4 ? (F)2147483648.0 : (F)9223372036854775808.0;
    const auto inside = (a >= -top - Vec<F, L>{}) & (a < top - Vec<F, L>{});
    const Vec<T, L> kept = __builtin_convertvector(inside, Vec<T, L>), least = (sizeof(T) == 4 ? (T)INT32_MIN : (T)INT64_MIN) - Vec<T, L>{};
    return (__builtin_convertvector(inside ? a : Vec<F, L>{}, Vec<T, L>) & kept) | (least & ~kept);
  } else { Vec<T, L> r; for (int i = 0; i < L; i++) r[i] = whole<T, F>(a[i]); return r; }
}

// Integers: floor division and modulo; by zero gives zero.
template <class T> INL T idiv(T a, T b) {
  if (b == 0) return 0;
  if constexpr ((T)-1 < (T)0) {
    if (b == (T)-1) return (T)(0 - a);
    T q = (T)(a / b); return (T)(q - ((a % b != 0) && ((a < 0) != (b < 0))));
  } else return (T)(a / b);
}
template <class T> INL T imod(T a, T b) {
  if (b == 0) return 0;
  if constexpr ((T)-1 < (T)0) {
    if (b == (T)-1) return 0;
    T r = (T)(a % b); return (T)((r != 0 && ((r < 0) != (b < 0))) ? r + b : r);
  } else return (T)(a % b);
}
template <class T> INL T fmodulo(T a, T b) { T r = (T)fmod(a, b); return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r; }
#define LANES(name, expr) template <class T, int L> INL Vec<T, L> v##name(Vec<T, L> a, Vec<T, L> b) { \
  Vec<T, L> r; for (int i = 0; i < L; i++) r[i] = expr(a[i], b[i]); return r; }
LANES(idiv, idiv<T>) LANES(imod, imod<T>) LANES(fmodulo, fmodulo<T>)

// Functions of one value, lane by lane unless libmvec has them.
#define SCALAR1(name) INL float s_##name(float a) { return name##f(a); } INL double s_##name(double a) { return name(a); } \
  template <class T, int L> INL Vec<T, L> lanes_##name(Vec<T, L> a) { Vec<T, L> r; for (int i = 0; i < L; i++) r[i] = s_##name(a[i]); return r; } \
  template <class T, int L> INL Vec<T, L> v_##name(Vec<T, L> a) { \
    if constexpr (Mvec_##name<T, L>::there) return Mvec_##name<T, L>::call(a); else return lanes_##name<T, L>(a); }
#if defined(__AVX512F__) && !defined(__clang__)
// exp for 16 floats: x = n ln2 + r, a Taylor polynomial for r in [-ln2/2, ln2/2] (error 5e-9), scaled by 2^n. It is
// inlined, so that several run interleaved; libmvec's is a call.
INL Vec<float, 16> exp16(Vec<float, 16> x) {
  typedef Vec<float, 16> V;
  x = __builtin_ia32_minps512_mask(V{} + 100.0f, x, x, (uint16_t)-1, 4);
  x = __builtin_ia32_maxps512_mask(V{} - 150.0f, x, x, (uint16_t)-1, 4);
  const V n = __builtin_ia32_rndscaleps_mask(x * 1.44269504088896341f, 0, x, (uint16_t)-1, 4);
  const V r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  const V r2 = r * r;
  const V low = (1.0f + r) + r2 * (0.5f + r * 0.166666667f);
  const V high = (0.0416666667f + r * 0.00833333333f) + r2 * (0.00138888889f + r * 1.98412698e-4f);
  return __builtin_ia32_scalefps512_mask(low + (r2 * r2) * high, n, x, (uint16_t)-1, 4);
}
#define EXP16 1
#endif
#define SCALAR2(name) INL float s_##name(float a, float b) { return name##f(a, b); } INL double s_##name(double a, double b) { return name(a, b); } \
  template <class T, int L> INL Vec<T, L> v_##name(Vec<T, L> a, Vec<T, L> b) { Vec<T, L> r; for (int i = 0; i < L; i++) r[i] = s_##name(a[i], b[i]); return r; }
#define DECLARE(name) template <class T, int L> struct Mvec_##name { static constexpr bool there = false; INL_CALL };
#define INL_CALL static Vec<T, L> call(Vec<T, L> a) { return a; }
#define MVEC(name, T, L, symbol) extern "C" Vec<T, L> symbol(Vec<T, L>); template <> struct Mvec_##name<T, L> { \
  static constexpr bool there = true; static inline Vec<T, L> call(Vec<T, L> a) { return symbol(a); } };
#if defined(__AVX512F__)
#define MVEC_ALL(name) MVEC(name, float, 16, _ZGVeN16v_##name##f) MVEC(name, double, 8, _ZGVeN8v_##name) \
  MVEC(name, float, 8, _ZGVdN8v_##name##f) MVEC(name, double, 4, _ZGVdN4v_##name)
#elif defined(__AVX2__)
#define MVEC_ALL(name) MVEC(name, float, 8, _ZGVdN8v_##name##f) MVEC(name, double, 4, _ZGVdN4v_##name)
#else
#define MVEC_ALL(name) MVEC(name, float, 4, _ZGVbN4v_##name##f) MVEC(name, double, 2, _ZGVbN2v_##name)
#endif
