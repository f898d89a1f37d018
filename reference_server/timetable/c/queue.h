#ifndef TIMETABLE_QUEUE_H
#define TIMETABLE_QUEUE_H

#include "connection.h"

/* Connections by the time their runs' next events are due, the earliest first: a binary heap in which each knows its
 * place. */
struct queue {
    struct connection **waiting; /* from index 1 on */
    size_t num_waiting, size;
};

void queue_put(struct queue *queue, struct connection *connection);
void queue_take(struct queue *queue, struct connection *connection);

static inline struct connection *queue_first(const struct queue *queue) {
    return queue->num_waiting ? queue->waiting[1] : NULL;
}

#endif
