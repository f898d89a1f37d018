/* The queue of runs. */

#include "queue.h"

#include <stdlib.h>

static void set(struct queue *queue, size_t place, struct connection *connection) {
    queue->waiting[place] = connection;
    connection->place = place;
}

static void rise(struct queue *queue, size_t place, struct connection *connection) {
    for (; place > 1 && queue->waiting[place / 2]->run.due_ns > connection->run.due_ns; place /= 2)
        set(queue, place, queue->waiting[place / 2]);
    set(queue, place, connection);
}

static void sink(struct queue *queue, size_t place, struct connection *connection) {
    for (;;) {
        size_t child = 2 * place;
        if (child > queue->num_waiting) break;
        if (child < queue->num_waiting && queue->waiting[child + 1]->run.due_ns < queue->waiting[child]->run.due_ns)
            child++;
        if (queue->waiting[child]->run.due_ns >= connection->run.due_ns) break;
        set(queue, place, queue->waiting[child]);
        place = child;
    }
    set(queue, place, connection);
}

void queue_put(struct queue *queue, struct connection *connection) {
    if (queue->num_waiting + 2 > queue->size) {
        queue->size = 2 * queue->size + 64;
        queue->waiting = realloc(queue->waiting, queue->size * sizeof *queue->waiting);
        if (!queue->waiting) abort();
    }
    rise(queue, ++queue->num_waiting, connection);
}

void queue_take(struct queue *queue, struct connection *connection) {
    size_t place = connection->place;
    if (!place) return;
    connection->place = 0;
    struct connection *last = queue->waiting[queue->num_waiting--];
    if (last == connection) return;
    if (place > 1 && queue->waiting[place / 2]->run.due_ns > last->run.due_ns) rise(queue, place, last);
    else sink(queue, place, last);
}
