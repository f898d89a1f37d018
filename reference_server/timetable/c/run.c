/* A run: the part of a streamed answer whose events differ in nothing but a word. */

#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define MAX_WORD_BYTES 64
#define SIZE_LINE_BYTES 20

void run_start(struct connection *connection, const struct run_request *request) {
    struct run *run = &connection->run;
    size_t around = request->before_size + request->after_size;
    free(run->before);
    run->before = malloc(around + around + MAX_WORD_BYTES + SIZE_LINE_BYTES);
    if (!run->before) abort();
    run->before_size = request->before_size;
    run->after_size = request->after_size;
    run->after = run->before + request->before_size;
    memcpy(run->before, request->before, request->before_size);
    memcpy(run->after, request->after, request->after_size);
    run->due_ns = request->due_ns;
    run->gap_ns = request->gap_ns;
    run->num_events = request->num_events;
    run->position = request->position;
    run->stamps = request->stamps;
    run->progress = request->progress;
}

/* The length in hexadecimal and CRLF; its own length. */
static size_t write_size_line(char *line, size_t value) {
    char digits[SIZE_LINE_BYTES];
    size_t count = 0, size = 0;
    do digits[count++] = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    while (count) line[size++] = digits[--count];
    line[size++] = '\r';
    line[size++] = '\n';
    return size;
}

static char *append(char *end, const char *data, size_t size) {
    memcpy(end, data, size);
    return end + size;
}

/* The next event as a chunk of HTTP, in the room behind its own pieces. */
static size_t render(struct run *run, const struct vocabulary *vocabulary, char **chunk) {
    uint32_t word = run->position++ & vocabulary->mask;
    size_t word_size = vocabulary->starts[word + 1] - vocabulary->starts[word];
    char *begin = run->after + run->after_size;
    char *end = begin + write_size_line(begin, run->before_size + word_size + run->after_size);
    end = append(end, run->before, run->before_size);
    end = append(end, vocabulary->words + vocabulary->starts[word], word_size);
    end = append(end, run->after, run->after_size);
    end = append(end, "\r\n", 2);
    *chunk = begin;
    return (size_t)(end - begin);
}

void run_write(struct connection *connection, const struct vocabulary *vocabulary) {
    struct run *run = &connection->run;
    struct progress *progress = run->progress;
    char *chunk;
    size_t size = render(run, vocabulary, &chunk);
    int64_t stamp_ns = monotonic_ns();
    run->stamps[progress->num_done++] = stamp_ns;
    if (!connection_write(connection, chunk, size)) progress->num_held++;
    int64_t late_ns = stamp_ns - run->due_ns;
    if (late_ns > progress->max_late_ns) progress->max_late_ns = late_ns;
    run->due_ns += run->gap_ns;
}
