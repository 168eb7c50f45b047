#include "bench/kernels/rows.h"

#define SELECTION "p-quantile over 30 panes x 200 samples, per series (48 KB, from L3)"
#define SMALL "60 panes x 20 samples + p99"
#define KLL_READ "5 KLL panes of 12,000 samples + p99"
#define KLL_BUILD "KLL ingest, n >= 1000, k = 200"
#define PANE "pane build, n <= k (sorted list)"
#define DDSKETCH_BUILD "DDSketch ingest, alpha 0.01"
#define DDSKETCH_READ "DDSketch 30 x 200 + p99"
#define HLL_BUILD "HLL insert, cached hash"
#define HLL_DENSE "HLL p=14, 30-way dense union + estimate (480 KB, in L2)"
#define HLL_SPARSE "HLL p=14, 30-way sparse n = 200"
#define CMS "CMS 5x2048 update / merge per pane"
#define CMS_TOP "CMS + top-32 update"
#define UNIVMON "UnivMon update / merge"

#define READ_30 "limit: read 30 x 200 doubles of 100 series (L3)"
#define READ_60 "limit: read 60 x 20 doubles of 100 series (L2)"
#define HASH "limit: XXH3 of 8 bytes, inlined"
#define INDEX "limit: logarithm to an index, and count it (L1)"

const struct table_job table_jobs[] = {
    {SELECTION, "selection, 0.5 of 30 x 200 sorted doubles", 6, READ_30, 1.6},
    {SELECTION, "selection, 0.9 of 30 x 200 sorted doubles", 6, READ_30, 1.6},
    {SELECTION, "selection, 0.99 of 30 x 200 sorted doubles", 1.8, READ_30, 1.6},
    {SELECTION, "quantile 0.5 of 30 x 200 doubles", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.9 of 30 x 200 doubles", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.99 of 30 x 200 doubles", 1.8, READ_30, 1.6},
    {SELECTION, "quantile 0.5 of 30 x 200 frames", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.9 of 30 x 200 frames", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.99 of 30 x 200 frames", 1.8, READ_30, 1.6},
    {SELECTION, "quantile 0.5 of 30 x 200 packed", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.9 of 30 x 200 packed", 6, READ_30, 1.6},
    {SELECTION, "quantile 0.99 of 30 x 200 packed", 1.8, READ_30, 1.6},
    {SMALL, "selection, 0.99 of 60 x 20 sorted doubles", 2.5, READ_60, 0},
    {SMALL, "quantile 0.99 of 60 x 20 doubles", 2.5, READ_60, 0},
    {SMALL, "quantile 0.99 of 60 x 20 frames", 2.5, READ_60, 0},
    {SMALL, "quantile 0.99 of 60 x 20 packed", 2.5, READ_60, 0},
    {KLL_READ, "quantile 0.99 of 5 KLL panes of 12000", 4, "limit: read 5 KLL states of 12000", 0},
    {KLL_BUILD, "KLL build n = 1000, k = 200", 8, "limit: vqsort 1000", 4.4},
    {KLL_BUILD, "KLL build n = 12000, k = 200", 8, "limit: vqsort 4096", 4.4},
    {PANE, "sort 20", 4, "limit: vqsort 20", 1.5},
    {PANE, "sort 60", 4, "limit: vqsort 60", 1.5},
    {PANE, "sort 200", 4, "limit: vqsort 200", 1.5},
    {DDSKETCH_BUILD, "DDSketch build n = 200, 1 %", 3, INDEX, 1.7},
    {DDSKETCH_BUILD, "DDSketch build n = 10000, 1 %", 3, INDEX, 1.7},
    {DDSKETCH_READ, "DDSketch p99 of 30 x 200, dense", 1.2, "limit: read 30 DDSketch states of 200, dense", 0},
    {DDSKETCH_READ, "DDSketch p99 of 30 x 200, compact", 3, "limit: read 30 DDSketch states of 200, compact", 0},
    {HLL_BUILD, "HLL build n = 1000000, p = 14 (full)", 1.3, HASH, 0.45},
    {HLL_BUILD, "HLL build n = 4000, p = 14 (fresh)", 3, HASH, 0.45},
    {HLL_BUILD, "HLL build n = 200, p = 14 (sparse)", 3, HASH, 0.45},
    {HLL_DENSE, "HLL p = 14 union of 30 dense", 6, "limit: greatest bytes of 30 x 16 KB (L2)", 3.6},
    {HLL_SPARSE, "HLL p = 14 union of 30 sparse (200)", 8, "limit: read 30 sparse HLL states of 200", 0},
    {CMS, "CMS 5 x 2048 update", 4.5, "limit: 5 random increments (40 KB)", 2.5},
    {CMS, "CMS 5 x 2048 merge of 30, a pane", 0.8, "limit: sum of 30 x 5 x 2048 counters, each (L2)", 0},
    {CMS_TOP, "CMS 5 x 2048 + top-32 update", 50, "limit: 5 random increments (40 KB)", 0},
    {UNIVMON, "UnivMon 5 x 2048, heap 32 update", 120, "limit: 10 random increments (80 KB)", 0},
    {UNIVMON, "UnivMon 5 x 2048, heap 32 merge of 30, a pane", 15, "limit: sum of 30 UnivMon states' bytes, each (L3)",
     0},
};
const size_t table_jobs_n = sizeof table_jobs / sizeof *table_jobs;

const char *const table_bytes_row = "bytes of a quantile pane, n = 4 / 10 / 60 / 200, 3-decimal latencies";
