/*
 * Two threads that give ingest its time: one runs ingest_tick, as soon as it is woken (writes wake it; at most every
 * 20 ms) and at least every 200 ms; one syncs the log every 100 ms. Failures are logged, each kind at most every 10 s:
 * a full disk is told to senders by their own requests.
 */
#ifndef SERVER_MAINTENANCE_H
#define SERVER_MAINTENANCE_H

#include "base/clock.h"
#include "ingest/ingest.h"

struct maintenance;
struct maintenance *maintenance_start(struct ingest *in, const struct wall_clock *clock, bool sync);
void maintenance_wake(struct maintenance *m); /* from any thread; cheap */
void maintenance_stop(struct maintenance *m); /* waits for a running tick; frees; NULL-safe */

#endif
