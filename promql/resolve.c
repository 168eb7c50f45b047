/* What depends on the query's start, end and step: duration expressions and @ start(), @ end(). */
#include "promql/duration_expr.h"
#include "promql/parse.h"

struct resolver {
    int64_t start_ms, end_ms;
    struct duration_query query;
    struct arena *arena;
    struct err *err;
};

/* Make a duration plain. */
static int resolve_duration(struct resolver *r, const struct duration_expr **expr, int64_t *ms, bool positive)
{
    const struct duration_expr *where;
    const char *reason;
    if (!*expr)
        return 0;
    if (!duration_expr_value_ms(*expr, &r->query, positive, ms, &reason, &where))
        return err_set(r->err, ERR_BAD_DATA, "%u:%u: %s", where->start, where->end, reason);
    *expr = NULL;
    return 0;
}

static int resolve_time(struct resolver *r, struct expr *e)
{
    int code = resolve_duration(r, &e->range_expr, &e->range_ms, true);
    if (code == 0)
        code = resolve_duration(r, &e->step_expr, &e->step_ms, true);
    if (code == 0)
        code = resolve_duration(r, &e->time.offset_expr, &e->time.offset_ms, false);
    if (e->time.at == AT_START || e->time.at == AT_END)
        e->time.at_ms = e->time.at == AT_START ? r->start_ms : r->end_ms;
    return code;
}

static bool depends(const struct expr *e)
{
    return e->range_expr || e->step_expr || e->time.offset_expr || e->time.at == AT_START || e->time.at == AT_END;
}

/* Copy *e into the arena unless it is a copy already. */
static int own(struct resolver *r, const struct expr *original, struct expr **e)
{
    if (*e != original)
        return 0;
    *e = arena_dup(r->arena, original, sizeof *original);
    return *e ? 0 : arena_check(r->arena, "query", r->err);
}

static int resolve(struct resolver *r, struct expr *original, struct expr **ret)
{
    struct expr *e = original;
    int code = depends(e) ? own(r, original, &e) : 0;
    if (code == 0 && e != original)
        code = resolve_time(r, e);
    for (uint32_t i = 0; code == 0 && i < original->args_n; i++) {
        struct expr *arg;
        code = resolve(r, original->args[i], &arg);
        if (code || arg == original->args[i])
            continue;
        if ((code = own(r, original, &e)))
            break;
        if (e->args == original->args) {
            e->args = arena_dup(r->arena, original->args, original->args_n * sizeof *original->args);
            if (!e->args)
                return arena_check(r->arena, "query", r->err);
        }
        e->args[i] = arg;
    }
    if (code == 0)
        *ret = e;
    return code;
}

int expr_resolve(const struct expr *root, int64_t start_ms, int64_t end_ms, int64_t step_ms, struct arena *a,
                 struct expr **ret, struct err *e)
{
    struct resolver r = {.start_ms = start_ms,
                         .end_ms = end_ms,
                         .query = {(double)step_ms / 1000, (double)(end_ms - start_ms) / 1000},
                         .arena = a,
                         .err = e};
    /* Nodes are never written through the original pointer: own() copies first. */
    struct expr *resolved;
    int code = resolve(&r, (struct expr *)(uintptr_t)root, &resolved);
    if (code == 0)
        *ret = resolved;
    return code;
}
