/* Fills what the allocator gives, and a zone behind it, with a pattern: memory that nobody wrote, or that lies past the
   end of a tensor, shows in a result, and `poison_broken` says that something was written to the zone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE = 256, PLACES = 1 << 14 };
int poison_byte = -1;
int poison_broken = 0;
static int (*real)(void **, size_t, size_t);
static void (*real_free)(void *);
static struct { unsigned char *start; size_t size; int byte; } known[PLACES];

static size_t place_of(void *start) { return (size_t)start / 64 % PLACES; }

static void look(size_t place) {
    unsigned char *zone = known[place].start + known[place].size;
    for (int i = 0; i < ZONE; i++) poison_broken |= zone[i] != known[place].byte;
    known[place].start = 0;
}

/* Looks at the zones of all that is still allocated. */
void poison_look(void) {
    for (size_t place = 0; place < PLACES; place++) if (known[place].start) look(place);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (!real) real = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    if (poison_byte < 0 || size > (1u << 24)) return real(out, alignment, size);
    int failed = real(out, alignment, size + ZONE);
    if (failed) return failed;
    memset(*out, poison_byte, size + ZONE);
    size_t place = place_of(*out);
    known[place].start = *out, known[place].size = size, known[place].byte = poison_byte; /* one of two is enough */
    return 0;
}

void free(void *start) {
    if (!real_free) real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    if (start && known[place_of(start)].start == start) look(place_of(start));
    real_free(start);
}
