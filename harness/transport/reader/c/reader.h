/* A thread that reads sockets and stamps what it reads, whatever the rest of the process is doing.
 *
 * It keeps bytes and times, and says through an eventfd which sockets somebody should look at: those whose answer
 * may be over, that have gathered much, were closed, or are to be looked at at every read. Everything else waits
 * until it is taken. */
#ifndef TOKENPACE_READER_H
#define TOKENPACE_READER_H

#include <stddef.h>
#include <stdint.h>

enum { READING = 0, AT_END = 1, BROKEN = 2 };

struct reader;
struct source;

/* One socket read. */
struct read {
    int64_t stamp_ns; /* monotonic clock, right after the read */
    int64_t size;
    int64_t delay_ns; /* since the kernel had it, by the wall clock; -1 where it didn't say */
    int64_t ahead_ns; /* wall clock minus monotonic clock at the read */
};

/* What has come from a socket since it was asked for last. Valid until it is asked for again. */
struct taken {
    const char *data;
    const struct read *reads;
    int64_t num_reads;
    int64_t state; /* READING, or how it ended */
    int64_t error; /* errno where it is BROKEN */
};

/* The marks end a stream: a read that ends with one, before the CRLF of its chunk, is to be looked at.
 * NULL if the system has nothing left. */
struct reader *reader_new(const char *marks, const int64_t *sizes, int64_t num_marks);

/* Every source must have been freed. */
void reader_free(struct reader *reader);

/* Readable when there are sockets to be looked at. */
int reader_bell(const struct reader *reader);

/* The numbers of those sockets, at most `most`; silences the bell when there are no more. */
int64_t reader_called(struct reader *reader, int64_t *numbers, int64_t most);

/* How late the thread got to something that was ready, in ns, since asked for last; at most `most`. */
int64_t reader_lags(struct reader *reader, int64_t *lags, int64_t most);

/* The socket stays the caller's, who closes it after source_free. */
struct source *source_new(struct reader *reader, int fd, int64_t number);
void source_free(struct source *source);
void source_take(struct source *source, struct taken *taken);

/* Whether every read of it is to be looked at, as at first, or only what may be the last of a body in chunks. */
void source_call_always(struct source *source, int always);

#endif
