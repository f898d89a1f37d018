#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_PER_TURN = 256,
    READ_BYTES = 65536,
    CALL_BYTES = 65536,      /* so much untaken is worth a look */
    MOST_BYTES = 1 << 20,    /* so much untaken of a socket is read no further, */
    MOST_UNTAKEN = 32 << 20, /* nor so much of all */
    CALL_READS = 4096,       /* as are so many reads; */
    MOST_READS = 65536,      /* so many are the most */
    KEPT_BYTES = 1 << 18,    /* a buffer with more room is not kept */
    TAIL_BYTES = 64,
    MOST_MARKS = 8,
    MOST_LAGS = 4096,
    PROBE_NS = 10000000,
    SLICE_NS = 100000,
    LESS_NICE = 10,
    GATHER_NS = 50000,
};

struct buffer {
    char *data;
    struct read *reads;
    size_t size, room, num_reads, room_reads;
};

struct source {
    struct reader *reader;
    int64_t number;
    int fd;
    pthread_mutex_t lock;
    struct buffer coming, given;
    char tail[TAIL_BYTES]; /* the last bytes read, right-aligned */
    int state, error;
    bool always, is_paused, is_dead;
    bool is_called; /* under the reader's lock, as next */
    struct source *next; /* that is called, or dead */
};

struct reader {
    int epoll, bell, stop, timer;
    pthread_t thread;
    pthread_mutex_t lock; /* of these; taken after a source's own */
    struct source *called, **called_end, *dead;
    int64_t lags[MOST_LAGS], num_lags;
    atomic_size_t untaken;
    char marks[MOST_MARKS][TAIL_BYTES];
    size_t mark_sizes[MOST_MARKS], num_marks;
    int64_t probe_ns;
    uint64_t chance;
    char scratch[READ_BYTES];
};

static int64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static bool grow(void **array, size_t *room, size_t wanted, size_t item) {
    if (wanted <= *room) return true;
    size_t larger = *room ? *room : 4096 / item;
    while (larger < wanted) larger *= 2;
    void *moved = realloc(*array, larger * item);
    if (!moved) return false;
    *array = moved;
    *room = larger;
    return true;
}

static bool keep(struct buffer *buffer, const char *data, struct read read) {
    size_t size = (size_t)read.size;
    if (!grow((void **)&buffer->data, &buffer->room, buffer->size + size, 1) ||
        !grow((void **)&buffer->reads, &buffer->room_reads, buffer->num_reads + 1, sizeof(struct read)))
        return false;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->reads[buffer->num_reads++] = read;
    return true;
}

static bool add(struct reader *reader, int fd, void *whom) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = whom};
    return fd >= 0 && !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Without events it would still be told of a reset, again and again. */
static void leave(struct source *source) { epoll_ctl(source->reader->epoll, EPOLL_CTL_DEL, source->fd, NULL); }

static void call(struct source *source) {
    struct reader *reader = source->reader;
    pthread_mutex_lock(&reader->lock);
    if (!source->is_called) {
        source->is_called = true;
        source->next = NULL;
        if (!reader->called) eventfd_write(reader->bell, 1);
        *reader->called_end = source;
        reader->called_end = &source->next;
    }
    pthread_mutex_unlock(&reader->lock);
}

static void end(struct source *source, int state, int error) {
    source->state = state;
    source->error = error;
    leave(source);
    call(source);
}

static bool ends_with(const struct source *source, const char *text, size_t size, size_t before) {
    return size + before <= TAIL_BYTES && !memcmp(source->tail + TAIL_BYTES - before - size, text, size);
}

/* The end of chunks is an empty line; a stream may be over before it. */
static bool may_be_over(const struct source *source) {
    if (!ends_with(source, "\r\n", 2, 0)) return false;
    if (ends_with(source, "\r\n", 2, 2)) return true;
    const struct reader *reader = source->reader;
    for (size_t mark = 0; mark < reader->num_marks; mark++)
        if (ends_with(source, reader->marks[mark], reader->mark_sizes[mark], 2)) return true;
    return false;
}

static void remember_tail(struct source *source, const char *data, size_t size) {
    if (size >= TAIL_BYTES) {
        memcpy(source->tail, data + size - TAIL_BYTES, TAIL_BYTES);
        return;
    }
    memmove(source->tail, source->tail + size, TAIL_BYTES - size);
    memcpy(source->tail + TAIL_BYTES - size, data, size);
}

static int64_t kernel_delay(struct msghdr *message, int64_t wall_ns) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec kernel;
        memcpy(&kernel, CMSG_DATA(part), sizeof kernel);
        return wall_ns - (kernel.tv_sec * INT64_C(1000000000) + kernel.tv_nsec);
    }
    return -1;
}

static void receive(struct source *source) {
    char ancillary[CMSG_SPACE(sizeof(struct timespec))];
    struct iovec place = {source->reader->scratch, READ_BYTES};
    struct msghdr message = {
        .msg_iov = &place, .msg_iovlen = 1, .msg_control = ancillary, .msg_controllen = sizeof ancillary};
    ssize_t size = recvmsg(source->fd, &message, MSG_DONTWAIT);
    if (size < 0) {
        if (errno != EAGAIN && errno != EINTR) end(source, BROKEN, errno);
        return;
    }
    if (size == 0) {
        end(source, AT_END, 0);
        return;
    }
    struct read read = {.stamp_ns = clock_ns(CLOCK_MONOTONIC), .size = size, .delay_ns = -1};
    if (message.msg_controllen) {
        int64_t wall_ns = clock_ns(CLOCK_REALTIME);
        read.ahead_ns = wall_ns - read.stamp_ns;
        read.delay_ns = kernel_delay(&message, wall_ns);
    }
    if (!keep(&source->coming, source->reader->scratch, read)) {
        end(source, BROKEN, ENOMEM);
        return;
    }
    remember_tail(source, source->reader->scratch, (size_t)size);
    size_t untaken = atomic_fetch_add(&source->reader->untaken, (size_t)size) + (size_t)size;
    const struct buffer *coming = &source->coming;
    if (coming->size >= MOST_BYTES || coming->num_reads >= MOST_READS || untaken >= MOST_UNTAKEN) {
        source->is_paused = true;
        leave(source);
    }
    bool is_much = coming->size >= CALL_BYTES || coming->num_reads >= CALL_READS;
    if (source->is_paused || source->always || is_much || may_be_over(source)) call(source);
}

static void arm(struct reader *reader) {
    reader->chance = reader->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    reader->probe_ns = clock_ns(CLOCK_MONOTONIC) + PROBE_NS / 2 + (int64_t)(reader->chance >> 33) % PROBE_NS;
    struct itimerspec due = {
        .it_value = {reader->probe_ns / 1000000000, reader->probe_ns % 1000000000}};
    timerfd_settime(reader->timer, TFD_TIMER_ABSTIME, &due, NULL);
}

static void probe(struct reader *reader) {
    int64_t lag_ns = clock_ns(CLOCK_MONOTONIC) - reader->probe_ns;
    uint64_t ignored;
    if (read(reader->timer, &ignored, sizeof ignored) < 0) return;
    pthread_mutex_lock(&reader->lock);
    if (reader->num_lags < MOST_LAGS) reader->lags[reader->num_lags++] = lag_ns;
    pthread_mutex_unlock(&reader->lock);
    arm(reader);
}

/* Those whose events, if there were any, have all been passed over by now. */
static void bury(struct reader *reader) {
    pthread_mutex_lock(&reader->lock);
    struct source *source = reader->dead;
    reader->dead = NULL;
    pthread_mutex_unlock(&reader->lock);
    while (source) {
        struct source *next = source->next;
        pthread_mutex_destroy(&source->lock);
        free(source->coming.data);
        free(source->coming.reads);
        free(source->given.data);
        free(source->given.reads);
        free(source);
        source = next;
    }
}

/* Nothing else of the process may keep it from reading. Where it isn't allowed to say so, a short slice at least
 * gives it an early deadline. It can't starve the others for long: what they don't take is read no further. */
static void come_first(void) {
    struct sched_param lowest = {.sched_priority = 1};
    prctl(PR_SET_TIMERSLACK, 1);
    if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest)) return;
    setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) - LESS_NICE);
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish};
    if (syscall(SYS_sched_getattr, 0, &wish, sizeof wish, 0)) return;
    wish.runtime = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &wish, 0);
}

/* Under a dense load one turn for several reads costs less than a turn for each. */
static int64_t gather(int64_t last_turn_ns) {
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns - last_turn_ns >= 2 * GATHER_NS) return now_ns;
    struct timespec until = {(now_ns + GATHER_NS) / 1000000000, (now_ns + GATHER_NS) % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return clock_ns(CLOCK_MONOTONIC);
}

static void *run(void *argument) {
    struct reader *reader = argument;
    struct epoll_event events[EVENTS_PER_TURN];
    int64_t last_turn_ns = 0;
    come_first();
    arm(reader);
    for (;;) {
        bury(reader);
        last_turn_ns = gather(last_turn_ns);
        int num_events = epoll_wait(reader->epoll, events, EVENTS_PER_TURN, -1);
        for (int at = 0; at < num_events; at++) {
            void *whom = events[at].data.ptr;
            if (whom == &reader->stop) return NULL;
            if (whom == &reader->timer) {
                probe(reader);
                continue;
            }
            struct source *source = whom;
            pthread_mutex_lock(&source->lock);
            if (!source->is_dead && !source->is_paused && source->state == READING) receive(source);
            pthread_mutex_unlock(&source->lock);
        }
    }
}

static bool start(struct reader *reader) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the rest of the process */
    int failure = pthread_create(&reader->thread, NULL, run, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failure;
}

static void close_all(struct reader *reader) {
    int all[] = {reader->epoll, reader->bell, reader->stop, reader->timer};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++)
        if (all[at] >= 0) close(all[at]);
    free(reader);
}

static void take_marks(struct reader *reader, const char *marks, const int64_t *sizes, int64_t num_marks) {
    for (int64_t mark = 0; mark < num_marks && reader->num_marks < MOST_MARKS; marks += sizes[mark++]) {
        if (sizes[mark] > TAIL_BYTES - 2) continue;
        memcpy(reader->marks[reader->num_marks], marks, (size_t)sizes[mark]);
        reader->mark_sizes[reader->num_marks++] = (size_t)sizes[mark];
    }
}

struct reader *reader_new(const char *marks, const int64_t *sizes, int64_t num_marks) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    pthread_mutex_init(&reader->lock, NULL);
    take_marks(reader, marks, sizes, num_marks);
    reader->called_end = &reader->called;
    reader->chance = (uint64_t)clock_ns(CLOCK_MONOTONIC);
    reader->epoll = epoll_create1(EPOLL_CLOEXEC);
    reader->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reader->stop = eventfd(0, EFD_CLOEXEC);
    reader->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (reader->bell >= 0 && add(reader, reader->stop, &reader->stop) && add(reader, reader->timer, &reader->timer) &&
        start(reader))
        return reader;
    close_all(reader);
    return NULL;
}

void reader_free(struct reader *reader) {
    eventfd_write(reader->stop, 1);
    pthread_join(reader->thread, NULL);
    bury(reader);
    close_all(reader);
}

int reader_bell(const struct reader *reader) { return reader->bell; }

int64_t reader_called(struct reader *reader, int64_t *numbers, int64_t most) {
    int64_t count = 0;
    pthread_mutex_lock(&reader->lock);
    for (; reader->called && count < most; reader->called = reader->called->next) {
        reader->called->is_called = false;
        numbers[count++] = reader->called->number;
    }
    if (!reader->called) {
        reader->called_end = &reader->called;
        eventfd_t ignored;
        eventfd_read(reader->bell, &ignored);
    }
    pthread_mutex_unlock(&reader->lock);
    return count;
}

int64_t reader_lags(struct reader *reader, int64_t *lags, int64_t most) {
    pthread_mutex_lock(&reader->lock);
    int64_t count = reader->num_lags < most ? reader->num_lags : most;
    memcpy(lags, reader->lags, (size_t)count * sizeof *lags);
    reader->num_lags = 0;
    pthread_mutex_unlock(&reader->lock);
    return count;
}

struct source *source_new(struct reader *reader, int fd, int64_t number) {
    struct source *source = calloc(1, sizeof *source);
    if (!source) return NULL;
    pthread_mutex_init(&source->lock, NULL);
    source->reader = reader;
    source->fd = fd;
    source->number = number;
    source->always = true;
    if (add(reader, fd, source)) return source;
    pthread_mutex_destroy(&source->lock);
    free(source);
    return NULL;
}

static void forget_call(struct source *source) {
    struct reader *reader = source->reader;
    struct source **link = &reader->called;
    while (*link && *link != source) link = &(*link)->next;
    if (!*link) return;
    *link = source->next;
    if (reader->called_end == &source->next) reader->called_end = link;
}

void source_free(struct source *source) {
    struct reader *reader = source->reader;
    pthread_mutex_lock(&source->lock);
    source->is_dead = true;
    if (source->state == READING && !source->is_paused) leave(source);
    atomic_fetch_sub(&reader->untaken, source->coming.size);
    pthread_mutex_unlock(&source->lock); /* the last: once it is among the dead it may be gone */
    pthread_mutex_lock(&reader->lock);
    if (source->is_called) forget_call(source);
    source->next = reader->dead;
    reader->dead = source;
    pthread_mutex_unlock(&reader->lock);
}

void source_take(struct source *source, struct taken *taken) {
    pthread_mutex_lock(&source->lock);
    struct buffer given = source->coming;
    source->coming = source->given;
    source->given = given;
    atomic_fetch_sub(&source->reader->untaken, given.size);
    source->coming.size = source->coming.num_reads = 0;
    if (source->coming.room > KEPT_BYTES) {
        free(source->coming.data);
        source->coming.data = NULL;
        source->coming.room = 0;
    }
    if (source->is_paused && source->state == READING) {
        source->is_paused = false;
        if (!add(source->reader, source->fd, source)) end(source, BROKEN, errno);
    }
    *taken = (struct taken){given.data, given.reads, (int64_t)given.num_reads, source->state, source->error};
    pthread_mutex_unlock(&source->lock);
}

void source_call_always(struct source *source, int always) {
    pthread_mutex_lock(&source->lock);
    source->always = always;
    if (always && source->coming.num_reads) call(source);
    pthread_mutex_unlock(&source->lock);
}
