// What clang (zig's, where no other compiler is) lacks of GCC: a shuffle by a vector, and the GNU library's threads.
#include <stdarg.h>
#include <stdint.h>
template <class V, class M> static inline __attribute__((always_inline)) V __builtin_shuffle(V v, M m) {
  V r;
  for (int i = 0; i < (int)(sizeof(V) / sizeof(v[0])); i++) r[i] = v[m[i]];
  return r;
}
template <class T> struct Bare { typedef T type; };
template <class T> struct Bare<T&> { typedef T type; };
template <class V, class M> static inline __attribute__((always_inline)) V __builtin_shuffle(V v, V w, M m) {
  const int n = (int)(sizeof(V) / sizeof(v[0]));
  typename Bare<decltype(v[0])>::type both[2 * n];  // chosen lane by lane it takes ten times as long
  __builtin_memcpy(both, &v, sizeof v);
  __builtin_memcpy(both + n, &w, sizeof w);
  V r;
  for (int i = 0; i < n; i++) r[i] = both[m[i]];
  return r;
}
#ifndef _OPENMP
extern "C" __attribute__((visibility("hidden"))) int omp_get_max_threads(void) { return 1; }
#else
// The calls that clang writes for `omp parallel for schedule(static)`, served by the library that torch has loaded.
// They stay inside: another OpenMP library of the process must not answer them.
#define HIDDEN extern "C" __attribute__((visibility("hidden"), used))
#define FORK_MOST 32
extern "C" {
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}
typedef void (*Region)(int32_t*, int32_t*, ...);
struct Fork { Region region; void* args[FORK_MOST]; };
static thread_local unsigned fork_threads = 0;
static void run_fork(void* data) {
  Fork* f = (Fork*)data;
  void** a = f->args;
  int32_t me = omp_get_thread_num(), bound = 0;
  f->region(&me, &bound, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14],
            a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28], a[29],
            a[30], a[31]);
}
HIDDEN void __kmpc_fork_call(void*, int32_t count, Region region, ...) {
  if (count > FORK_MOST) __builtin_trap();
  Fork f;
  f.region = region;
  va_list list;
  va_start(list, region);
  for (int i = 0; i < FORK_MOST; i++) f.args[i] = i < count ? va_arg(list, void*) : nullptr;
  va_end(list);
  unsigned threads = fork_threads;
  fork_threads = 0;
  GOMP_parallel(run_fork, &f, threads, 0);
}
HIDDEN int32_t __kmpc_global_thread_num(void*) { return omp_get_thread_num(); }
HIDDEN void __kmpc_push_num_threads(void*, int32_t, int32_t threads) { fork_threads = (unsigned)threads; }
template <class T, class S> static void own_share(int32_t* last, T* low, T* high, S* stride) {
  const T count = *high - *low + 1, all = (T)omp_get_num_threads(), me = (T)omp_get_thread_num();
  const T each = count / all, more = count % all;
  *low += me * each + (me < more ? me : more);
  *high = *low + each - (me < more ? 0 : 1);
  *stride = (S)count;
  *last = me == all - 1;
}
#define SHARE(suffix, T, S) \
  HIDDEN void __kmpc_for_static_init_##suffix(void*, int32_t, int32_t, int32_t* last, T* low, T* high, S* stride, S, S) { \
    own_share(last, low, high, stride); }
SHARE(4, int32_t, int32_t) SHARE(4u, uint32_t, int32_t) SHARE(8, int64_t, int64_t) SHARE(8u, uint64_t, int64_t)
HIDDEN void __kmpc_for_static_fini(void*, int32_t) {}
#endif
