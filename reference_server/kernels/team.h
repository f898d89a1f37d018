/* Threads that go through the same operations, each doing its part, and wait for each other between them. */
#ifndef TEAM_H
#define TEAM_H

#include <sched.h>
#include <stdint.h>

#include "kernels.h"

#if defined(__x86_64__) || defined(__i386__)
#define REST() __builtin_ia32_pause()
#else
#define REST() ((void)0)
#endif

#define NUM_LOOKS 2000 /* some tens of microseconds; who waits longer lets others run */

/* Of one thread: its own number, and what all share. */
typedef struct {
    int part, num_parts;
    int *arrived, *round;
} Team;

/* Returns when all have come here. What they wrote before is seen by all after. Parts of an operation are short, so
 * that waking a thread would take longer than the operation. */
static inline void wait_for_all(const Team *team) {
    if (team->num_parts == 1) return;
    int round = __atomic_load_n(team->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(team->arrived, 1, __ATOMIC_ACQ_REL) == team->num_parts) {
        __atomic_store_n(team->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(team->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int looks = 0; __atomic_load_n(team->round, __ATOMIC_ACQUIRE) == round; looks++) {
        if (looks < NUM_LOOKS) {
            REST();
        } else {
            sched_yield();
        }
    }
}

static inline int64_t first_of(int64_t count, const Team *team) { return share(count, team->part, team->num_parts); }

static inline int64_t end_of(int64_t count, const Team *team) { return share(count, team->part + 1, team->num_parts); }

#endif
