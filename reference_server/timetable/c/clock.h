#ifndef TIMETABLE_CLOCK_H
#define TIMETABLE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clock of Python's time.monotonic_ns(). */
static inline int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
