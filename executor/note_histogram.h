/*
 * The notes of operators that meet native histograms, in Prometheus' words. `byte` is the place in the query's text
 * that a note ends with; `name` the metric's, "" when there is none.
 */
#ifndef EXECUTOR_NOTE_HISTOGRAM_H
#define EXECUTOR_NOTE_HISTOGRAM_H

#include "executor/eval.h"

/* ---- warnings ---- */
void note_mixed_range(struct eval *ev, struct str name, uint32_t byte);   /* numbers and histograms in one window */
void note_mixed_group(struct eval *ev, uint32_t byte);                    /* ... in one group of an aggregation */
void note_mixed_classic(struct eval *ev, struct str name, uint32_t byte); /* a classic and a native one, same labels */
void note_layouts_differ(struct eval *ev, const char *operator_text, uint32_t byte);

/* ---- infos ---- */
void note_ignored_in_range(struct eval *ev, struct str name, uint32_t byte);
void note_ignored_in_group(struct eval *ev, const char *aggregation, uint32_t byte);
/* An operator that has no meaning for these operands. */
void note_types(struct eval *ev, bool left_histogram, const char *operator_text, bool right_histogram, uint32_t byte);

/* What the bits of enum histogram_note say, of histograms of metric `name`. */
void note_histogram_bits(struct eval *ev, unsigned bits, struct str name, uint32_t byte);

#endif
