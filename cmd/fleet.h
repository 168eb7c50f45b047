/*
 * Synthetic series for `load` and `demo`: labels and values are pure functions of the series' number and the time, so
 * any span can be made at any moment and twice the same.
 */
#ifndef CMD_FLEET_H
#define CMD_FLEET_H

#include "base/labels.h"

enum fleet_kind {
    FLEET_LATENCY = 1, /* gauge, lognormal around a level of its own that rises and falls over 20 minutes; 3 decimals */
    FLEET_RATIO,       /* gauge in [0, 1], a slow wave with noise; 3 decimals */
    FLEET_COUNTER      /* whole numbers that only rise, at a rate of its own; starts again once a day */
};

enum { FLEET_LABELS_MAX = 8 };

struct fleet_label {
    const char *name;
    uint32_t values_n; /* "name-0" ... */
};
struct fleet_metric {
    const char *name;
    enum fleet_kind kind;
    uint32_t series_n;
    struct fleet_label labels[FLEET_LABELS_MAX]; /* the first varies slowest; used up: a label `series` is added */
    uint32_t labels_n;
};

/* Label set of series i < series_n, sorted; in `a`. */
void fleet_labels(const struct fleet_metric *m, uint32_t i, struct arena *a, struct labels *ret);
double fleet_value(const struct fleet_metric *m, uint32_t i, int64_t time_ms);

#endif
