/*
 * What this machine's kernels take, in the planner's terms (planner/cost_model.h, whose file cmd/calibrate.c writes).
 * All times are the least of several repetitions, in CPU-ms of this thread: what else runs only makes them longer.
 */
#ifndef CMD_CALIBRATE_H
#define CMD_CALIBRATE_H

#include <stdbool.h>

#include "kernels/sketch.h"

struct measured_family {
    bool measured; /* false: no states are built of it */
    double build_row_ms, build_state_ms, read_state_ms, read_result_ms;
};
struct measured {
    double op_ms, byte_ms, byte_s_ms;
    struct measured_family families[FAMILY_END];
};

/*
 * op_ms: half of what a sample takes in sum_over_time's window, which is two nodes (range, function). byte_ms: what
 * decoding a row of a raw chunk takes beyond that, spread over the 48 bytes a row is priced at. byte_s_ms: the
 * machine's cores over its memory. Families: lines through builds of 4 and 240 samples, and through estimates over 2
 * and 34 states of 60 samples, of log-normal values of three decimals; parameters as for an error of 1 %.
 */
void calibrate_measure(struct measured *ret);

#endif
