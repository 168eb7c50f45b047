/*
 * What states by labels must be: the samples a test sent, kept beside the engine, and from them each group's state of a
 * window, by arithmetic on whole numbers and by the family itself over what each group consists of. And what the engine
 * has of the same window, in memory or in the store.
 */
#ifndef TESTS_INGEST_GROUP_MODEL_H
#define TESTS_INGEST_GROUP_MODEL_H

#include "ingest/rig.h"
#include "store/group.h"
#include "store/pane.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, WIDTH = MINUTE, RETENTION = 30 * MINUTE };

enum model_view {
    VIEW_SUM,     /* by g */
    VIEW_COUNT,   /* by nothing */
    VIEW_MIN,     /* by g */
    VIEW_MAX,     /* by g, h */
    VIEW_HEAVY,   /* CMS with a heap, values of l by g */
    VIEW_NORM,    /* CountSketch with a heap, series by g */
    VIEW_KMV,     /* values of l by nothing */
    VIEW_HLL,     /* values of l by h */
    VIEW_UNIVMON, /* series by g */
    VIEW_OTHER,   /* of another metric: n's sum by g */
    VIEW_ONE_BY_ONE /* no groups: m's sum a series */,
    MODEL_VIEWS
};

struct model_view_definition {
    const char *metric;
    enum family family;
    struct sketch_params params;
    struct view_input input;
    struct str by[2];
    uint32_t by_n;
    bool per_series;
};
extern const struct model_view_definition model_views[MODEL_VIEWS];

/* All of them in one plan; only those of the mask. */
struct plan *model_plan(const struct rig *r, uint32_t mask);

/* Series are written name{a="b",c="d"}, labels in order; the text must live as long as the model. */
void model_reset(void);
/* Send them and remember them; a sample of a window that view `VIEW_SUM` has sealed is late for good. */
void model_send(struct rig *r, const struct rig_sample *samples, size_t n, int64_t receive_ms);

/* One group's state as the engine has it. */
struct model_state {
    char group[200]; /* g="1",h="2" */
    uint32_t number;
    uint8_t bytes[8192];
    uint32_t size;
};
struct model_states {
    struct model_state *v; /* by group */
    uint32_t n, flags;     /* of the blocks, together */
    uint64_t samples_n;
    uint32_t blocks_n;
    enum window_status status;
};
/* Of the window that ends at end_ms; the caller frees ret->v. Any thread; a window that is gone is WINDOW_MISSING.
 * Groups are checked to be those of the store's table. */
void model_read(struct rig *r, enum model_view view, int64_t end_ms, struct model_states *ret);
/* Compare with what was sent. Returns how many groups there are. */
uint32_t model_check(struct rig *r, enum model_view view, int64_t end_ms);
/* The states of VIEW_SUM are those of VIEW_ONE_BY_ONE merged, byte for byte, as both are stored. */
void model_check_merged(struct rig *r, int64_t end_ms);
/* A sealed window's rows in the dictionary. */
uint32_t model_rows(struct rig *r, enum model_view view);
void model_status(struct rig *r, enum model_view view, struct ingest_view_status *ret);
/* What a grouped snapshot covers of (start, end]; raw_from of every series is checked to be that. */
int64_t model_covered(struct rig *r, enum model_view view, int64_t start_ms, int64_t end_ms, const char *metric);

#endif
