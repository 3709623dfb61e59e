/* Fills what the allocator gives with a pattern, so that memory which nobody wrote shows in a result. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int poison_byte = -1;
static int (*real)(void **, size_t, size_t);
int posix_memalign(void **out, size_t alignment, size_t size) {
    if (!real) real = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    int failed = real(out, alignment, size);
    if (!failed && poison_byte >= 0 && size <= (1u << 24)) memset(*out, poison_byte, size);
    return failed;
}
