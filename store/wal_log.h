/* The open log, shared by wal.c (opening, appending, syncing, trimming) and wal_replay.c. */
#ifndef STORE_WAL_LOG_H
#define STORE_WAL_LOG_H

#include <pthread.h>

#include "store/wal_segment.h"

struct wal {
    char *dir; /* DIR/wal */
    uint64_t segment_bytes;
    struct wal_segment *segments; /* ascending; the last one is appended to */
    size_t segments_n, segments_cap;
    int fd; /* of the last segment, -1 when there is none or the log is only read */
    bool read_only;

    pthread_mutex_t mutex; /* over what follows, and `fd` while a sync runs */
    pthread_cond_t changed;
    uint64_t last_seq;   /* appended */
    uint64_t synced_seq; /* known to be on the disk */
    bool syncing;
    int sync_errno; /* of the first failed sync */
};

#endif
