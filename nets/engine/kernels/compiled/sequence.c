/* Runs calls that were recorded, one after the other, on the threads of one parallel region.

   Compiled when first needed (compiled/sequence.py). To begin and end a region for every call, and to come back to
   Python between them, takes as long as a small layer. */

#include <sched.h>

typedef struct {
    void (*function)(void *job);
    void *job;
    long *next;                 /* the job's unit of work that nobody has taken */
} call;

typedef struct {
    const call *calls;
    long count;
    int (*threads)(void);       /* says how many take part */
    long arrived;               /* threads behind a call, all calls counted together */
    long done;                  /* calls that all threads are through with */
} calls_job;

enum { PATIENCE = 2000 };       /* looks at what others have done before the core is left to them */

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void wait_until_done(const calls_job *job, long count) {
    for (long looks = 0; __atomic_load_n(&job->done, __ATOMIC_ACQUIRE) < count; looks++)
        if (looks < PATIENCE) pause_briefly();
        else sched_yield();
}

/* Called by all threads that share the job. The last one behind a call makes it ready for the next time. */
void run_calls(calls_job *job) {
    const long threads = job->threads();
    for (long i = 0; i < job->count; i++) {
        job->calls[i].function(job->calls[i].job);
        if (__atomic_add_fetch(&job->arrived, 1, __ATOMIC_ACQ_REL) == threads * (i + 1)) {
            *job->calls[i].next = 0;
            __atomic_store_n(&job->done, i + 1, __ATOMIC_RELEASE);
        } else {
            wait_until_done(job, i + 1);
        }
    }
}
