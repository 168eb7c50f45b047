#include <string.h>

#include "planner/cost_model.h"
#include "planner/document.h"

#define CALIBRATION_ARENA_BYTES ((size_t)64 << 20)

static void read_cost(struct document *d, const struct node *n, const char *key, double *ret)
{
    const struct node *v = node_get(n, key);
    double cost;
    if (!v || !node_read_number(d, v, key, &cost))
        return;
    if (cost < 0)
        document_problem(d, v, "%s must be at least 0, not %g", key, cost);
    else
        *ret = cost;
}

static void read_family(struct document *d, const struct node *key, const struct node *n, struct cost_model *m)
{
    static const char *const known[] = {"build_row_ms", "build_state_ms", "read_state_ms", "read_result_ms"};
    const struct family_info *info = key->kind == NODE_SCALAR ? family_by_name(key->text.p, key->text.n) : NULL;
    if (!info) {
        document_problem(d, key, "families: there is no family of this name");
        return;
    }
    if (!node_is_mapping(d, n, "a family"))
        return;
    node_check_keys(d, n, "a family", known, sizeof known / sizeof *known);
    struct cost_family *f = &m->families[info->family];
    read_cost(d, n, "build_row_ms", &f->build_row_ms);
    read_cost(d, n, "build_state_ms", &f->build_state_ms);
    read_cost(d, n, "read_state_ms", &f->read_state_ms);
    read_cost(d, n, "read_result_ms", &f->read_result_ms);
}

static void read_root(struct document *d, struct cost_model *m)
{
    static const char *const known[] = {"format", "machine", "op_ms", "byte_ms", "byte_s_ms", "families"};
    struct str format, machine;
    if (!node_is_mapping(d, d->root, "a calibration"))
        return;
    const struct node *v = node_get(d->root, "format");
    if (!v) {
        document_problem(d, d->root, "`format` is missing; this version reads \"%s\"", CALIBRATION_FORMAT);
        return;
    }
    if (!node_read_text(d, v, "format", &format))
        return;
    if (!str_eq(format, STR(CALIBRATION_FORMAT))) { /* the rest means something else there */
        document_problem(d, v, "format \"" STR_FMT "\" is not one this version reads, \"%s\"", STR_ARG(format),
                         CALIBRATION_FORMAT);
        return;
    }
    node_check_keys(d, d->root, "a calibration", known, sizeof known / sizeof *known);
    if ((v = node_get(d->root, "machine")))
        node_read_text(d, v, "machine", &machine);
    read_cost(d, d->root, "op_ms", &m->op_ms);
    read_cost(d, d->root, "byte_ms", &m->byte_ms);
    read_cost(d, d->root, "byte_s_ms", &m->byte_s_ms);
    v = node_get(d->root, "families");
    if (!v || !node_is_mapping(d, v, "families"))
        return;
    node_check_unique(d, v, "families");
    for (const struct node_item *item = v->first; item; item = item->next)
        read_family(d, item->key, item->value, m);
}

int calibration_read(struct str text, const char *file, struct cost_model *ret, struct problems *problems,
                     struct err *e)
{
    struct arena arena;
    struct document d;
    struct cost_model m = cost_defaults;
    arena_init(&arena, CALIBRATION_ARENA_BYTES);
    document_load(&d, text, file, &arena);
    if (d.root)
        read_root(&d, &m);
    uint32_t found_n = document_done(&d, problems);
    int rc = arena_check(&arena, "calibration", e);
    if (rc == 0 && found_n > 0)
        rc = err_set(e, ERR_BAD_DATA, "%s: %u problem%s; nothing was planned", file, found_n, found_n == 1 ? "" : "s");
    arena_done(&arena);
    if (rc == 0)
        *ret = m;
    return rc;
}
