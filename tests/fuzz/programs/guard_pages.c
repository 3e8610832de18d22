/* Memory of tensors between guard pages: an access one byte outside a tensor's memory, or to memory that was given back,
 * ends the process. Loaded ahead of the C library (LD_PRELOAD); PyTorch requests the memory of tensors with
 * posix_memalign, which hardly anything else uses. Half of the requests end at a guard page, half begin after one; what
 * is left of their last page must be as it was when they are given back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SLOTS = 1 << 15, HELD = 1 << 9, KEPT = 1 << 14, CANARY = 0xA7, NEITHER = 0xC3 };
#define ROOM ((size_t)1 << 25) /* bytes of address space for each request; larger ones get more */

static struct slot {
    char *start;  /* of the pages */
    char *memory; /* what was returned */
    size_t asked, pages;
} slots[SLOTS];
static int spare[SLOTS], spares, used, held[HELD], held_next;
static char *arena, *arena_end;
static unsigned long requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*plain_free)(void *);
static void *(*plain_memalign)(size_t, size_t);

__attribute__((constructor)) static void find_plain(void) {
    plain_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    plain_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static void fail(const char *what) {
    if (write(2, what, strlen(what)) < 0) _exit(134);
    abort();
}

static struct slot *slot_of(void *memory) {
    if (!arena || (char *)memory < arena || (char *)memory >= arena_end) return NULL;
    return &slots[((char *)memory - arena) / ROOM];
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    size_t bytes = (size + PAGE - 1) / PAGE * PAGE;
    int number;
    struct slot *s;
    if (bytes == 0) bytes = PAGE;
    if (bytes + 2 * PAGE > ROOM) { /* too large for a slot: the C library's own memory */
        *out = plain_memalign(alignment, size);
        return *out ? 0 : ENOMEM;
    }
    pthread_mutex_lock(&lock);
    if (!arena) {
        arena = mmap(NULL, SLOTS * ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED) fail("guard_pages: no address space\n");
        arena_end = arena + SLOTS * ROOM;
    }
    number = spares > 0 ? spare[--spares] : used < SLOTS ? used++ : -1;
    if (number < 0) fail("guard_pages: too many requests\n");
    s = &slots[number];
    s->start = arena + number * ROOM + PAGE;
    s->asked = size;
    s->pages = bytes;
    if (mprotect(s->start, bytes, PROT_READ | PROT_WRITE)) {
        spare[spares++] = number;
        pthread_mutex_unlock(&lock);
        return ENOMEM;
    }
    s->memory = requests++ % 2 ? s->start : s->start + bytes - size;
    memset(s->start, CANARY, s->memory - s->start);
    memset(s->memory + size, CANARY, s->start + bytes - s->memory - size);
    if (bytes <= KEPT) memset(s->memory, NEITHER, size); /* not what was there before */
    *out = s->memory;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void check(const char *from, const char *to) {
    for (; from < to; from++)
        if (*from != (char)CANARY) fail("guard_pages: memory beside a tensor was changed\n");
}

void free(void *memory) {
    struct slot *s = slot_of(memory);
    int number, oldest;
    if (!s) {
        if (plain_free) plain_free(memory); /* what is freed before that is found is left */
        return;
    }
    pthread_mutex_lock(&lock);
    number = s - slots;
    if (memory != s->memory) fail("guard_pages: memory given back twice\n");
    check(s->start, s->memory);
    check(s->memory + s->asked, s->start + s->pages);
    s->memory = NULL;
    if ((s->pages > KEPT && madvise(s->start, s->pages, MADV_DONTNEED)) || mprotect(s->start, s->pages, PROT_NONE))
        fail("guard_pages: pages cannot be given back\n");
    oldest = held[held_next] - 1; /* memory that was given back stays without access for a while */
    held[held_next] = number + 1;
    held_next = (held_next + 1) % HELD;
    if (oldest >= 0) spare[spares++] = oldest;
    pthread_mutex_unlock(&lock);
}
