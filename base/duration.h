/*
 * Prometheus durations ("1h30m", "5m", "250ms", "0s") and times.
 * Grammar as Prometheus 3's model.ParseDuration: units y w d h m s ms in falling order, each at most once; y = 365 d.
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { DURATION_TEXT_MAX = 48 };

/* Whole ms >= 0. Rejects the empty string, unknown or repeated units, overflow of int64 ns (as Go does). "0" is 0. */
int duration_parse(struct str text, int64_t *ret_ms, struct err *e);
/* Shortest Prometheus form, e.g. 90000 -> "1m30s", 0 -> "0s"; negative ones get a leading '-'. Returns the length. */
int duration_format(int64_t ms, char ret[DURATION_TEXT_MAX]);

/* API time parameter: float Unix seconds or RFC 3339 (with fraction and zone); to ms, rounded as Prometheus does. */
int time_parse(struct str text, int64_t *ret_ms, struct err *e);
/* API duration parameter (step, timeout): float seconds or a duration; > 0 is the caller's check. */
int seconds_or_duration_parse(struct str text, int64_t *ret_ms, struct err *e);
/* Byte size with B, KB, KiB, MB, MiB, GB, GiB, TB, TiB or none. As in Prometheus, KB is KiB: both are 1024 bytes. */
int size_parse(struct str text, uint64_t *ret_bytes, struct err *e);

static inline int64_t floor_div(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return q - (a % b < 0);
}
static inline int64_t floor_mod(int64_t a, int64_t m) /* m > 0; in [0, m) */
{
    int64_t r = a % m;
    return r < 0 ? r + m : r;
}

#endif
