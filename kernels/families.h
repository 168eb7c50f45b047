/*
 * The rows of the family table, one a file. Inside kernels/ only: everybody else asks family_get (kernels/sketch.h).
 */
#ifndef KERNELS_FAMILIES_H
#define KERNELS_FAMILIES_H

#include "kernels/sketch.h"

extern const struct family_info sum_family;               /* sum.c */
extern const struct family_info min_family;               /* exact.c */
extern const struct family_info max_family;               /* exact.c */
extern const struct family_info count_family;             /* exact.c */
extern const struct family_info moments_family;           /* moments.c */
extern const struct family_info counter_family;           /* counter.c */
extern const struct family_info kll_family;               /* kll.c */
extern const struct family_info ddsketch_family;          /* ddsketch.c */
extern const struct family_info hll_family;               /* hll.c */
extern const struct family_info values_family;            /* values.c */
extern const struct family_info cms_family;               /* cms.c */
extern const struct family_info cms_heap_family;          /* cms.c */
extern const struct family_info countsketch_family;       /* countsketch.c */
extern const struct family_info countsketch_heap_family;  /* countsketch.c */
extern const struct family_info kmv_family;               /* kmv.c */
extern const struct family_info univmon_family;           /* univmon.c */
extern const struct family_info hydra_cms_family;         /* hydra_families.c */
extern const struct family_info hydra_countsketch_family; /* hydra_families.c */
extern const struct family_info hydra_kll_family;         /* hydra_families.c */
extern const struct family_info regression_family;        /* regression.c */
extern const struct family_info distinct_set_family;      /* distinct.c */

#endif
