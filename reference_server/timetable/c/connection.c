/* A client's socket and the bytes that the kernel did not take yet. */

#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct connection *connection_new(int fd) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) abort();
    connection->fd = fd;
    connection->reads = true;
    return connection;
}

void connection_free(struct connection *connection) {
    free(connection->run.before);
    free(connection->held);
    free(connection->inbox);
    free(connection);
}

/* Bytes that the kernel took, -1 if the client is gone. */
static ssize_t offer(struct connection *connection, const char *data, size_t size) {
    ssize_t taken = send(connection->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken >= 0) return taken;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
    connection->ended = true;
    return -1;
}

bool connection_write(struct connection *connection, const char *data, size_t size) {
    ssize_t taken = connection_num_held(connection) ? 0 : offer(connection, data, size);
    if (taken < 0 || (size_t)taken == size) return true;
    connection_hold(connection, data + taken, size - (size_t)taken);
    return false;
}

void connection_hold(struct connection *connection, const char *data, size_t size) {
    if (connection->held_end + size > connection->held_size && connection->held_begin) {
        memmove(connection->held, connection->held + connection->held_begin, connection_num_held(connection));
        connection->held_end -= connection->held_begin;
        connection->held_begin = 0;
    }
    if (connection->held_end + size > connection->held_size) {
        connection->held_size = 2 * (connection->held_end + size);
        connection->held = realloc(connection->held, connection->held_size);
        if (!connection->held) abort();
    }
    memcpy(connection->held + connection->held_end, data, size);
    connection->held_end += size;
}

void connection_receive(struct connection *connection, const char *data, size_t size, int64_t stamp_ns) {
    connection->inbox = realloc(connection->inbox, connection->inbox_size + size);
    if (!connection->inbox) abort();
    memcpy(connection->inbox + connection->inbox_size, data, size);
    connection->inbox_size += size;
    connection->received_ns = stamp_ns;
}

void connection_flush(struct connection *connection) {
    size_t size = connection_num_held(connection);
    if (size) {
        ssize_t taken = offer(connection, connection->held + connection->held_begin, size);
        if (taken > 0) connection->held_begin += (size_t)taken;
        if (connection_num_held(connection)) return;
    }
    connection->held_begin = connection->held_end = 0;
    if (connection->shuts) shutdown(connection->fd, SHUT_WR);
    connection->shuts = false;
    if (connection->closes) connection->ended = true;
}
