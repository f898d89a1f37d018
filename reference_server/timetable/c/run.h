#ifndef TIMETABLE_RUN_H
#define TIMETABLE_RUN_H

#include "connection.h"
#include "loop.h"

void run_start(struct connection *connection, const struct run_request *request);

/* Write the next event and stamp it. */
void run_write(struct connection *connection, const struct vocabulary *vocabulary);

static inline bool run_is_over(const struct connection *connection) {
    return connection->run.progress->num_done == connection->run.num_events;
}

#endif
