/* Memory that a thread keeps from call to call. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdint.h>
#include <stdlib.h>

#define SCRATCH_LINE 64

/* Each file that includes this has memory of its own. NULL if there is none. */
static char *scratch_of(int64_t num_bytes) {
    static _Thread_local char *scratch;
    static _Thread_local int64_t size;
    if (num_bytes > size) {
        free(scratch);
        scratch = aligned_alloc(SCRATCH_LINE, (size_t)((num_bytes + SCRATCH_LINE - 1) / SCRATCH_LINE * SCRATCH_LINE));
        size = scratch ? num_bytes : 0;
    }
    return scratch;
}

#endif
