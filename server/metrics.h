/* Figures of the server itself that are no whole numbers, beside base/stats. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdint.h>

void metrics_query(uint64_t took_ns); /* one query ended */

#endif
