#ifndef TIMETABLE_LOOP_H
#define TIMETABLE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Python's side. A connection is known by its descriptor, from connected, when it has sent something, to lost. */
struct callbacks {
    void (*connected)(int fd);
    void (*received)(int fd, const char *data, size_t size, int64_t stamp_ns);
    void (*lost)(int fd);
    void (*ring)(void); /* the alarm's time has come */
    void (*turn)(void); /* asked for by loop_soon */
    void (*ran)(int fd); /* the run is over, or too much is held */
};

/* The words of the answers: word i is words[starts[i]..starts[i + 1]). */
struct vocabulary {
    const char *words;
    const uint32_t *starts;
    uint32_t mask; /* their number less 1, which is a power of 2 */
};

struct loop;

/* Serve a listening socket until wake_fd is readable. NULL if the system lacks something. */
struct loop *loop_new(int listen_fd, int wake_fd, const struct callbacks *, const struct vocabulary *);
void loop_run(struct loop *loop);
void loop_free(struct loop *loop);

void loop_alarm(struct loop *loop, int64_t due_ns); /* 0 silences it */
void loop_soon(struct loop *loop);

size_t loop_num_held(struct loop *loop, int fd);
void loop_hold(struct loop *loop, int fd, const char *data, size_t size);
void loop_read(struct loop *loop, int fd, bool reads);
void loop_shut(struct loop *loop, int fd);
void loop_close(struct loop *loop, int fd);
void loop_abort(struct loop *loop, int fd);

struct run_request {
    int64_t due_ns, gap_ns, num_events;
    const char *before, *after;
    size_t before_size, after_size;
    uint32_t position;
    int64_t *stamps;
    void *progress;
};
void loop_start_run(struct loop *loop, int fd, const struct run_request *request);

#endif
