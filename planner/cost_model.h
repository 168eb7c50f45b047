/*
 * What work costs on a machine: CPU-ms. The defaults are round figures (docs/PLANNER.md, stage 3); `mullion calibrate`
 * measures a machine and writes a calibration file, which calibration.c reads.
 *
 *   op_ms       one row through one node: a scan, a window of a range function, one result
 *   byte_ms     one byte read or written: raw rows (48 each) and states
 *   byte_s_ms   one byte of a state held for one second: a price rather than a time. The default is a machine that has
 *               one core for each 8 GB, whose memory is worth as much as its cores
 *
 * and for each family of states what its kernels take: build_row_ms a sample and build_state_ms a state when built,
 * read_state_ms a state and read_result_ms a result when an estimate is read. A row of a family of counters is one for
 * each row of counters and one more: build_row_ms is that of COST_MODEL_DEPTH rows of them, and others are in
 * proportion.
 */
#ifndef PLANNER_COST_MODEL_H
#define PLANNER_COST_MODEL_H

#include "kernels/sketch.h"
#include "planner/planner.h"

enum { COST_MODEL_DEPTH = 5 };

struct cost_family {
    double build_row_ms, build_state_ms, read_state_ms, read_result_ms;
};
struct cost_model {
    double op_ms, byte_ms, byte_s_ms;
    struct cost_family families[FAMILY_END];
};
extern const struct cost_model cost_defaults;

#define CALIBRATION_FORMAT "mullion-calibration/1"
enum { CALIBRATION_MAX_BYTES = 1 << 20 };
/*
 * A calibration file (JSON, or YAML):
 *
 *   {"format": "mullion-calibration/1", "machine": "any text", "op_ms": 1e-6, "byte_ms": 1e-7, "byte_s_ms": 1.25e-7,
 *    "families": {"kll": {"build_row_ms": 1e-5, "build_state_ms": 1e-4, "read_state_ms": 1e-4, "read_result_ms": 0}}}
 *
 * Numbers are >= 0. What is left out, a key or a family, is the defaults'. Every problem is listed with its place, as a
 * workload's are; on any, ERR_BAD_DATA and *ret is untouched. A format of another version is one.
 */
int calibration_read(struct str text, const char *file, struct cost_model *ret, struct problems *problems,
                     struct err *e);

#endif
