/* The event loop of one thread: accepts, reads and stamps, rings an alarm, and carries runs out.
 *
 * What is not a run is Python's, called back. All that is ready is read and stamped before Python is told, and a turn
 * has few writes and little of Python in it before it looks at the sockets again: the time of an arrival is not to be
 * that of a queue within the server. */

#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "queue.h"
#include "run.h"

#define MAX_EVENTS 256
#define MAX_ACCEPTED_IN_A_TURN 256
#define MAX_WRITES_IN_A_TURN 32
#define READ_BYTES ((size_t)256 * 1024)
#define TELLING_NS 100000 /* of a turn */

struct loop {
    int epoll_fd, timer_fd, listen_fd, wake_fd;
    bool stopped, listens, wants_turn;
    int64_t alarm_ns, timer_ns; /* asked for; what the timer is set to */
    struct callbacks call;
    struct vocabulary vocabulary;
    struct connection **by_fd;
    size_t num_fds;
    struct queue queue;
    int *ended; /* to be buried at the end of the turn */
    size_t num_ended, size_ended;
    int *unread; /* a ring of connections with something in the inbox, from unread_begin on */
    size_t unread_begin, num_unread, size_unread; /* the size is a power of 2 */
    char *buffer;
};

static bool watch(struct loop *loop, int operation, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(loop->epoll_fd, operation, fd, &event) == 0;
}

struct loop *loop_new(int listen_fd, int wake_fd, const struct callbacks *call,
                      const struct vocabulary *vocabulary) {
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop) abort();
    loop->call = *call;
    loop->vocabulary = *vocabulary;
    loop->listen_fd = listen_fd;
    loop->wake_fd = wake_fd;
    loop->listens = true;
    loop->buffer = malloc(READ_BYTES);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->buffer && watch(loop, EPOLL_CTL_ADD, listen_fd, EPOLLIN) &&
        watch(loop, EPOLL_CTL_ADD, wake_fd, EPOLLIN) &&
        watch(loop, EPOLL_CTL_ADD, loop->timer_fd, EPOLLIN | EPOLLET))
        return loop;
    loop_free(loop);
    return NULL;
}

static struct connection *find(struct loop *loop, int fd) {
    return fd >= 0 && (size_t)fd < loop->num_fds ? loop->by_fd[fd] : NULL;
}

/* Watch for what the connection waits for now; remember it if it has ended. */
static void settle(struct loop *loop, struct connection *connection) {
    if (connection->ended) {
        if (connection->watched == UINT32_MAX) return;
        connection->watched = UINT32_MAX;
        queue_take(&loop->queue, connection);
        if (loop->num_ended == loop->size_ended) {
            loop->size_ended = 2 * loop->size_ended + 64;
            loop->ended = realloc(loop->ended, loop->size_ended * sizeof *loop->ended);
            if (!loop->ended) abort();
        }
        loop->ended[loop->num_ended++] = connection->fd;
        return;
    }
    bool writes = connection_num_held(connection) || connection->closes || connection->shuts;
    uint32_t wanted = (connection->reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);
    if (wanted == connection->watched) return;
    connection->watched = wanted;
    watch(loop, EPOLL_CTL_MOD, connection->fd, wanted);
}

static void bury(struct loop *loop) {
    for (size_t i = 0; i < loop->num_ended; i++) {
        int fd = loop->ended[i];
        struct connection *connection = loop->by_fd[fd];
        if (connection->introduced) loop->call.lost(fd);
        loop->by_fd[fd] = NULL;
        connection_free(connection);
        close(fd);
    }
    if (loop->num_ended && !loop->listens) loop->listens = watch(loop, EPOLL_CTL_ADD, loop->listen_fd, EPOLLIN);
    loop->num_ended = 0;
}

static void add(struct loop *loop, int fd) {
    if ((size_t)fd >= loop->num_fds) {
        size_t num_fds = 2 * (size_t)fd + 64;
        loop->by_fd = realloc(loop->by_fd, num_fds * sizeof *loop->by_fd);
        if (!loop->by_fd) abort();
        memset(loop->by_fd + loop->num_fds, 0, (num_fds - loop->num_fds) * sizeof *loop->by_fd);
        loop->num_fds = num_fds;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    loop->by_fd[fd] = connection_new(fd);
    loop->by_fd[fd]->watched = EPOLLIN;
    watch(loop, EPOLL_CTL_ADD, fd, EPOLLIN);
}

/* Put the connection into the ring. */
static void note_unread(struct loop *loop, int fd) {
    if (loop->num_unread == loop->size_unread) {
        size_t size = loop->size_unread ? 2 * loop->size_unread : 64;
        int *unread = malloc(size * sizeof *unread);
        if (!unread) abort();
        for (size_t i = 0; i < loop->num_unread; i++)
            unread[i] = loop->unread[(loop->unread_begin + i) & (loop->size_unread - 1)];
        free(loop->unread);
        loop->unread = unread;
        loop->unread_begin = 0;
        loop->size_unread = size;
    }
    loop->unread[(loop->unread_begin + loop->num_unread++) & (loop->size_unread - 1)] = fd;
}

static void receive(struct loop *loop, struct connection *connection) {
    if (connection->inbox_size >= READ_BYTES) return;
    ssize_t size = recv(connection->fd, loop->buffer, READ_BYTES, MSG_DONTWAIT);
    if (size > 0) {
        int64_t stamp_ns = monotonic_ns();
        if (!connection->inbox_size) note_unread(loop, connection->fd);
        connection_receive(connection, loop->buffer, (size_t)size, stamp_ns);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        connection->ended = true;
    }
}

static void tell(struct loop *loop, struct connection *connection) {
    char *inbox = connection->inbox;
    size_t size = connection->inbox_size;
    int fd = connection->fd;
    connection->inbox = NULL;
    connection->inbox_size = 0;
    if (!connection->introduced) loop->call.connected(fd);
    connection->introduced = true;
    loop->call.received(fd, inbox, size, connection->received_ns);
    free(inbox);
}

/* Tell Python what was read, for a while. */
static void tell_some(struct loop *loop) {
    int64_t until_ns = loop->num_unread ? monotonic_ns() + TELLING_NS : 0;
    while (loop->num_unread) {
        struct connection *connection = find(loop, loop->unread[loop->unread_begin]);
        loop->unread_begin = (loop->unread_begin + 1) & (loop->size_unread - 1);
        loop->num_unread--;
        if (!connection || connection->ended || !connection->inbox_size) continue;
        tell(loop, connection);
        if (monotonic_ns() >= until_ns) return;
    }
}

static void accept_some(struct loop *loop) {
    for (int i = 0; i < MAX_ACCEPTED_IN_A_TURN; i++) {
        int fd = accept4(loop->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            add(loop, fd);
            receive(loop, loop->by_fd[fd]); /* most clients have sent by now */
            settle(loop, loop->by_fd[fd]);
        } else if (errno == EMFILE || errno == ENFILE) { /* wait until a connection ends */
            loop->listens = false;
            watch(loop, EPOLL_CTL_DEL, loop->listen_fd, 0);
            return;
        } else if (errno != ECONNABORTED) {
            return;
        }
    }
}

static void attend(struct loop *loop, const struct epoll_event *event) {
    int fd = event->data.fd;
    if (fd == loop->timer_fd) loop->timer_ns = 0;
    else if (fd == loop->wake_fd) loop->stopped = true;
    else if (fd == loop->listen_fd) accept_some(loop);
    else {
        struct connection *connection = find(loop, fd);
        if (!connection || connection->ended) return;
        if (event->events & EPOLLOUT) connection_flush(connection);
        if (connection->reads && !connection->ended) {
            if (event->events & ~EPOLLOUT) receive(loop, connection);
        } else if (event->events & (EPOLLERR | EPOLLHUP)) {
            connection->ended = true;
        }
        settle(loop, connection);
    }
}

static void end_run(struct loop *loop, struct connection *connection) {
    connection->run.num_events = 0;
    loop->call.ran(connection->fd);
}

/* The event that is due first, of all runs. */
static void write_first(struct loop *loop, struct connection *connection) {
    queue_take(&loop->queue, connection);
    run_write(connection, &loop->vocabulary);
    if (!connection->ended) {
        if (run_is_over(connection) || connection_num_held(connection) > MAX_HELD_BYTES) {
            end_run(loop, connection);
        } else {
            queue_put(&loop->queue, connection);
        }
    }
    settle(loop, connection);
}

static void write_due(struct loop *loop) {
    int64_t now_ns = monotonic_ns();
    for (int i = 0; i < MAX_WRITES_IN_A_TURN; i++) {
        struct connection *connection = queue_first(&loop->queue);
        if (!connection || connection->run.due_ns > now_ns) return;
        write_first(loop, connection);
    }
}

static void set_timer(struct loop *loop, int64_t due_ns) {
    if (due_ns == loop->timer_ns) return;
    loop->timer_ns = due_ns;
    struct itimerspec when = {.it_value = {due_ns / 1000000000, due_ns % 1000000000}};
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static int wait_for_events(struct loop *loop, struct epoll_event *events) {
    struct connection *first = queue_first(&loop->queue);
    int64_t due_ns = loop->alarm_ns;
    if (first && (!due_ns || first->run.due_ns < due_ns)) due_ns = first->run.due_ns;
    bool at_once = loop->wants_turn || loop->num_unread || (due_ns && due_ns <= monotonic_ns());
    if (!at_once) set_timer(loop, due_ns);
    int num = epoll_wait(loop->epoll_fd, events, MAX_EVENTS, at_once ? 0 : -1);
    return num < 0 ? 0 : num;
}

void loop_run(struct loop *loop) {
    struct epoll_event events[MAX_EVENTS];
    while (!loop->stopped) {
        int num = wait_for_events(loop, events);
        for (int i = 0; i < num; i++) attend(loop, &events[i]);
        bury(loop);
        tell_some(loop);
        if (loop->wants_turn) {
            loop->wants_turn = false;
            loop->call.turn();
        }
        if (loop->alarm_ns && loop->alarm_ns <= monotonic_ns()) {
            loop->alarm_ns = 0;
            loop->call.ring();
        }
        write_due(loop);
        bury(loop);
    }
}

void loop_free(struct loop *loop) {
    for (size_t fd = 0; fd < loop->num_fds; fd++) {
        if (!loop->by_fd[fd]) continue;
        connection_free(loop->by_fd[fd]);
        close((int)fd);
    }
    free(loop->by_fd);
    free(loop->queue.waiting);
    free(loop->ended);
    free(loop->unread);
    free(loop->buffer);
    if (loop->epoll_fd >= 0) close(loop->epoll_fd);
    if (loop->timer_fd >= 0) close(loop->timer_fd);
    free(loop);
}

void loop_alarm(struct loop *loop, int64_t due_ns) { loop->alarm_ns = due_ns; }

void loop_soon(struct loop *loop) { loop->wants_turn = true; }

size_t loop_num_held(struct loop *loop, int fd) {
    struct connection *connection = find(loop, fd);
    return connection ? connection_num_held(connection) : 0;
}

void loop_hold(struct loop *loop, int fd, const char *data, size_t size) {
    struct connection *connection = find(loop, fd);
    if (!connection || connection->ended) return;
    connection_hold(connection, data, size);
    settle(loop, connection);
}

void loop_read(struct loop *loop, int fd, bool reads) {
    struct connection *connection = find(loop, fd);
    if (!connection || connection->ended) return;
    connection->reads = reads;
    settle(loop, connection);
}

void loop_shut(struct loop *loop, int fd) {
    struct connection *connection = find(loop, fd);
    if (!connection || connection->ended) return;
    connection->shuts = true;
    settle(loop, connection);
}

void loop_close(struct loop *loop, int fd) {
    struct connection *connection = find(loop, fd);
    if (!connection || connection->ended) return;
    connection->reads = false;
    connection->closes = true;
    connection->ended = !connection_num_held(connection);
    settle(loop, connection);
}

void loop_abort(struct loop *loop, int fd) {
    struct connection *connection = find(loop, fd);
    if (!connection) return;
    connection->ended = true;
    settle(loop, connection);
}

void loop_start_run(struct loop *loop, int fd, const struct run_request *request) {
    struct connection *connection = find(loop, fd);
    if (!connection || connection->ended) return;
    run_start(connection, request);
    queue_put(&loop->queue, connection);
}
