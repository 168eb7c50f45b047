#include "executor/function_info.h"

#include <pthread.h>

#include "executor/apply.h"
#include "executor/label_index.h"

/* The labels that say whose the information is. */
static const struct str identifying[] = {{"instance", 8}, {"job", 3}};
enum { IDENTIFYING_N = 2 };

/* ---- completing the tree ---- */
static struct matcher info_names; /* compiled once, for good */
static pthread_once_t info_names_once = PTHREAD_ONCE_INIT;

static void info_names_init(void)
{
    struct err e;
    MUST(matcher_init(&info_names, MATCH_RE, STR(LABEL_NAME), STR(".+_info"), &e) == 0);
}

static const struct expr *first_selector(const struct expr *e)
{
    const struct expr *found = e->kind == EXPR_SELECTOR ? e : NULL;
    for (uint32_t i = 0; i < e->args_n && !found; i++)
        found = first_selector(e->args[i]);
    return found;
}

/* The given matchers, with one for the name added: target_info when none names a metric; when the name is only ruled
 * out, what looks like an info metric. */
static bool complete_matchers(struct expr *selector, struct arena *a)
{
    bool named = false, ruled_out = false;
    struct matcher *m = ARENA_ARRAY(a, struct matcher, (size_t)selector->matchers_n + 1);
    if (!m)
        return false;
    for (uint32_t i = 0; i < selector->matchers_n; i++) {
        bool name = str_eq(selector->matchers[i].name, STR(LABEL_NAME));
        named |= name && (selector->matchers[i].op == MATCH_EQ || selector->matchers[i].op == MATCH_RE);
        ruled_out |= name;
    }
    if (named)
        return true;
    pthread_once(&info_names_once, info_names_init);
    /* Matchers are sorted by name, then by operator. */
    uint32_t at = 0;
    while (at < selector->matchers_n && str_cmp(selector->matchers[at].name, STR(LABEL_NAME)) < 0)
        at++;
    while (ruled_out && at < selector->matchers_n && str_eq(selector->matchers[at].name, STR(LABEL_NAME)) &&
           selector->matchers[at].op < MATCH_RE)
        at++;
    for (uint32_t i = 0; i < selector->matchers_n; i++)
        m[i + (i >= at)] = selector->matchers[i];
    m[at] = info_names;
    if (!ruled_out)
        m[at] = (struct matcher){.op = MATCH_EQ, .name = STR(LABEL_NAME), .value = STR("target_info")};
    selector->matchers = m;
    selector->matchers_n++;
    return true;
}

/* timestamp(selector) for the second argument of an info call. */
static struct expr *second_argument(const struct expr *call, struct arena *a)
{
    const struct expr *base = first_selector(call->args[0]);
    const struct expr *given = call->args_n > 1 ? expr_unwrap(call->args[1]) : NULL;
    struct expr *selector = ARENA_NEW(a, struct expr), *times = ARENA_NEW(a, struct expr);
    struct expr **args = ARENA_ARRAY(a, struct expr *, 1);
    if (!selector || !times || !args)
        return NULL;
    *selector = given ? *given : (struct expr){.kind = EXPR_SELECTOR, .type = VALUE_VECTOR, .height = 1};
    selector->start = call->start;
    selector->end = call->end;
    if (base)
        selector->time = base->time;
    if (!complete_matchers(selector, a))
        return NULL;
    args[0] = selector;
    *times = (struct expr){.kind = EXPR_CALL, .type = VALUE_VECTOR, .height = 2, .args_n = 1, .args = args};
    times->start = call->start;
    times->end = call->end;
    times->function = function_by_id(FUNCTION_timestamp);
    return times;
}

static bool has_info(const struct expr *e)
{
    bool found = e->kind == EXPR_CALL && e->function->id == FUNCTION_info;
    for (uint32_t i = 0; i < e->args_n && !found; i++)
        found = has_info(e->args[i]);
    return found;
}

static struct expr *complete(const struct expr *e, struct arena *a)
{
    bool info = e->kind == EXPR_CALL && e->function->id == FUNCTION_info;
    struct expr *copy = ARENA_NEW(a, struct expr);
    struct expr **args = ARENA_ARRAY(a, struct expr *, (size_t)e->args_n + 1);
    if (!copy || !args)
        return NULL;
    *copy = *e;
    copy->args = args;
    for (uint32_t i = 0; i < (info ? 1 : e->args_n); i++) {
        args[i] = has_info(e->args[i]) ? complete(e->args[i], a) : e->args[i];
        if (!args[i])
            return NULL;
    }
    if (info) {
        copy->args_n = 2;
        args[1] = second_argument(e, a);
    }
    return info && !args[1] ? NULL : copy;
}

int info_complete(const struct expr *root, struct arena *a, const struct expr **ret, struct err *e)
{
    const struct expr *completed = has_info(root) ? complete(root, a) : root;
    if (!completed)
        return arena_check(a, "query", e);
    *ret = completed;
    return 0;
}

/* ---- applying ---- */
enum { NONE = UINT32_MAX };

struct enriching {
    const struct apply *c;
    const struct expr *selector;
    const struct value *base, *info;      /* info: sample times */
    struct label_groups base_by, info_by; /* by identifying labels */
    const uint32_t *name_of;              /* [info series]: number of its metric name */
    uint32_t names_n;
    uint32_t *newest; /* [steps][names_n]: the info series of the group at hand, or NONE */
    bool *step_done;  /* [steps] */
    struct vec_series *out;
    uint32_t out_n;
    size_t out_cap;
};

static bool is_info(const struct enriching *x, const struct labels *l)
{
    struct str name = labels_get(l, STR(LABEL_NAME));
    for (uint32_t i = 0; i < x->selector->matchers_n; i++) {
        const struct matcher *m = &x->selector->matchers[i];
        if (str_eq(m->name, STR(LABEL_NAME)) && !matcher_accepts(m, name))
            return false;
    }
    return true;
}

static bool is_data_matcher(const struct matcher *m)
{
    return !str_eq(m->name, STR(LABEL_NAME));
}

/* Is the label asked for? Without data matchers all are. */
static bool is_wanted(const struct enriching *x, struct str label)
{
    bool any = false;
    for (uint32_t i = 0; i < x->selector->matchers_n; i++) {
        const struct matcher *m = &x->selector->matchers[i];
        if (is_data_matcher(m) && str_eq(m->name, label))
            return true;
        any |= is_data_matcher(m);
    }
    return !any;
}

static bool absence_suffices(const struct enriching *x)
{
    for (uint32_t i = 0; i < x->selector->matchers_n; i++) {
        const struct matcher *m = &x->selector->matchers[i];
        if (is_data_matcher(m) && !matcher_accepts(m, (struct str){"", 0}))
            return false;
    }
    return true;
}

static bool is_identified(const struct labels *l)
{
    return labels_get(l, identifying[0]).n || labels_get(l, identifying[1]).n;
}

static int add_out(struct enriching *x, const struct vec_series *s, struct err *e)
{
    struct vec_series *out = arena_grow(x->c->ev->arena, x->out, &x->out_cap, (size_t)x->out_n + 1, sizeof *out);
    if (!out)
        return apply_full(x->c, e);
    x->out = out;
    out[x->out_n++] = *s;
    return 0;
}

/* For each step and metric name the info series of group g with the newest sample. `required[i]`: info series without
 * identifying label i do not count. */
static int find_newest(struct enriching *x, uint32_t g, const bool *required, struct err *e)
{
    uint32_t n = x->c->t->n;
    for (size_t i = 0; i < (size_t)n * x->names_n; i++)
        x->newest[i] = NONE;
    for (uint32_t m = x->info_by.starts[g]; m < x->info_by.starts[g + 1]; m++) {
        uint32_t s = x->info_by.members[m], name = x->name_of[s];
        const struct vec_series *info = &x->info->series[s];
        bool counts = is_identified(&info->labels);
        for (uint32_t i = 0; i < IDENTIFYING_N; i++)
            counts &= !required[i] || labels_get(&info->labels, identifying[i]).n > 0;
        for (uint32_t i = 0; i < n && counts; i++) {
            uint32_t *best = &x->newest[(size_t)i * x->names_n + name];
            if (value_absent(info->v[i]))
                continue;
            if (*best != NONE && x->info->series[*best].v[i] == info->v[i])
                return err_set(e, ERR_EXECUTION, "found duplicate series for info metric " STR_FMT,
                               STR_ARG(labels_get(&info->labels, STR(LABEL_NAME))));
            if (*best == NONE || x->info->series[*best].v[i] < info->v[i])
                *best = s;
        }
    }
    return eval_check(x->c->ev, 0, e);
}

/* The labels of a base series with those of the chosen info series. */
static int enriched_labels(const struct enriching *x, const struct labels *base, const uint32_t *chosen,
                           struct labels *ret, struct err *e)
{
    struct arena *arena = x->c->ev->arena;
    struct labels added = {0};
    *ret = *base;
    for (uint32_t k = 0; k < x->names_n; k++) {
        const struct labels *info = chosen[k] == NONE ? NULL : &x->info->series[chosen[k]].labels;
        for (uint32_t i = 0; info && i < info->n; i++) {
            struct label l = info->v[i];
            if (str_eq(l.name, STR(LABEL_NAME)) || !is_wanted(x, l.name))
                continue;
            struct str before = labels_get(&added, l.name);
            if (before.n && !str_eq(before, l.value))
                return err_set(e, ERR_EXECUTION, "conflicting label: " STR_FMT, STR_ARG(l.name));
            if (before.n || labels_get(base, l.name).n)
                continue;
            labels_with(&added, l.name, l.value, arena, &added);
            labels_with(ret, l.name, l.value, arena, ret);
        }
    }
    return apply_full(x->c, e);
}

/* One result for each choice of info series that occurs over the steps. */
static int enrich(struct enriching *x, const struct vec_series *base, struct err *e)
{
    uint32_t n = x->c->t->n, names_n = x->names_n;
    size_t choice_bytes = names_n * sizeof *x->newest;
    memset(x->step_done, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *chosen = x->newest + (size_t)i * names_n;
        if (x->step_done[i] || value_absent(base->v[i]))
            continue;
        bool matched = false;
        for (uint32_t k = 0; k < names_n; k++)
            matched |= chosen[k] != NONE;
        if (!matched && !absence_suffices(x))
            continue;
        struct vec_series s = {.drop_name = base->drop_name, .v = value_array_absent(x->c->ev, n), .h = base->h};
        int code = s.v ? enriched_labels(x, &base->labels, chosen, &s.labels, e) : apply_full(x->c, e);
        for (uint32_t k = i; code == 0 && k < n; k++) {
            if (names_n && memcmp(chosen, x->newest + (size_t)k * names_n, choice_bytes) != 0)
                continue;
            s.v[k] = base->v[k];
            x->step_done[k] = true;
        }
        if (code == 0)
            code = add_out(x, &s, e);
        if (code != 0)
            return code;
    }
    return eval_check(x->c->ev, 0, e);
}

static int group_by_target(struct enriching *x, struct err *e)
{
    const struct label_key target = {LABEL_KEY_ONLY, identifying, IDENTIFYING_N};
    const struct str name = STR(LABEL_NAME);
    const struct label_key metric = {LABEL_KEY_ONLY, &name, 1};
    struct eval *ev = x->c->ev;
    struct label_index targets, names;
    const uint32_t *of_base, *of_info;
    label_index_init(&targets, ev->arena);
    label_index_init(&names, ev->arena);
    int code = label_groups_number(&targets, &target, x->base, ev, &of_base, e);
    if (code == 0)
        code = label_groups_number(&targets, &target, x->info, ev, &of_info, e);
    if (code == 0)
        code = label_groups_number(&names, &metric, x->info, ev, &x->name_of, e);
    if (code == 0)
        code = label_groups_lay_out(ev, of_base, x->base->series_n, targets.n, &x->base_by, e);
    if (code == 0)
        code = label_groups_lay_out(ev, of_info, x->info->series_n, targets.n, &x->info_by, e);
    x->names_n = names.n;
    label_index_done(&targets);
    label_index_done(&names);
    return code;
}

static int enrich_all(struct enriching *x, struct err *e)
{
    bool required[IDENTIFYING_N] = {false};
    int code = 0;
    for (uint32_t s = 0; s < x->base->series_n; s++) {
        const struct labels *l = &x->base->series[s].labels;
        for (uint32_t i = 0; i < IDENTIFYING_N && !is_info(x, l); i++)
            required[i] |= labels_get(l, identifying[i]).n > 0;
    }
    for (uint32_t g = 0; g < x->base_by.n && code == 0; g++) {
        if (x->base_by.starts[g] == x->base_by.starts[g + 1])
            continue;
        code = find_newest(x, g, required, e);
        for (uint32_t m = x->base_by.starts[g]; m < x->base_by.starts[g + 1] && code == 0; m++) {
            const struct vec_series *base = &x->base->series[x->base_by.members[m]];
            code = is_info(x, &base->labels) ? add_out(x, base, e) : enrich(x, base, e);
        }
    }
    return code;
}

int info_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct expr *times = c->expr->args_n > 1 ? expr_unwrap(c->expr->args[1]) : NULL;
    if (!times || times->kind != EXPR_CALL || times->function->id != FUNCTION_timestamp)
        return err_set(e, ERR_EXECUTION, "info() can only be evaluated as part of a whole query");
    struct enriching x = {.c = c, .selector = expr_unwrap(times->args[0]), .base = &c->args[0], .info = &c->args[1]};
    if (x.info->histogram_times)
        return err_set(e, ERR_EXECUTION, "an info metric has native histograms; info() reads numbers");
    int code = group_by_target(&x, e);
    if (code != 0)
        return code;
    x.newest = ARENA_ARRAY(c->ev->arena, uint32_t, (size_t)c->t->n * x.names_n);
    x.step_done = ARENA_ARRAY(c->ev->arena, bool, c->t->n);
    if (!x.newest || !x.step_done)
        return apply_full(c, e);
    code = enrich_all(&x, e);
    *ret = (struct value){.type = VALUE_VECTOR, .series = x.out, .series_n = x.out_n};
    return code != 0 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}
