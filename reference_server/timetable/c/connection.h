#ifndef TIMETABLE_CONNECTION_H
#define TIMETABLE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_HELD_BYTES ((size_t)16 << 20)

/* What a run tells Python while it goes on, in memory that Python owns. */
struct progress {
    int64_t num_done;    /* events written */
    int64_t max_late_ns; /* the worst of them */
    int64_t num_held;    /* those that the kernel did not take at once */
};

/* Events that are alike but for their word, one every gap_ns. */
struct run {
    int64_t due_ns, gap_ns, num_events;
    uint32_t position;       /* in the vocabulary, of the next word */
    char *before, *after;    /* what stands round the word; one piece of memory */
    size_t before_size, after_size;
    int64_t *stamps;         /* one for each event; Python's */
    struct progress *progress;
};

struct connection {
    int fd;
    bool reads;        /* takes bytes of the client */
    bool closes;       /* ends once nothing is held */
    bool shuts;        /* no more is written once nothing is held */
    bool ended;        /* is to be buried */
    bool introduced;   /* Python knows of it */
    uint32_t watched;  /* events that epoll was asked for */
    char *held;        /* what the kernel did not take: held[held_begin..held_end) */
    size_t held_begin, held_end, held_size;
    char *inbox;       /* what was read and Python has not been told */
    size_t inbox_size;
    int64_t received_ns; /* when the last of it was read */
    struct run run;    /* under way if its num_events is not 0 */
    size_t place;      /* in the queue of runs, from 1 on; 0 outside */
};

struct connection *connection_new(int fd);
void connection_free(struct connection *connection);

/* Hand bytes to the kernel, or hold them. True if the kernel took them all; ends the connection on an error. */
bool connection_write(struct connection *connection, const char *data, size_t size);

/* Keep bytes for later. */
void connection_hold(struct connection *connection, const char *data, size_t size);

/* Keep what was read at that time. */
void connection_receive(struct connection *connection, const char *data, size_t size, int64_t stamp_ns);

/* Write what is held, as far as the kernel takes it. */
void connection_flush(struct connection *connection);

static inline size_t connection_num_held(const struct connection *connection) {
    return connection->held_end - connection->held_begin;
}

#endif
