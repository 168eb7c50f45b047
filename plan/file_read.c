/* Text to plan. Shapes, types, bounds and places are this file's; what the parts mean together is plan_check's. */
#include "plan/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "plan/check.h"
#include "plan/file.h"
#include "plan/file_format.h"

enum { INPUTS_MAX = PARSE_NODES_MAX, REDUCE_MAX = 1024 };

void *read_room(struct json_in *in, size_t n, size_t item_bytes)
{
    if (in->rc != 0)
        return NULL;
    void *room = arena_alloc_n(in->arena, n, item_bytes);
    if (!room) {
        in->rc = arena_check(in->arena, "plan", in->e);
        return NULL;
    }
    return memset(room, 0, n * item_bytes);
}

const json_t *read_item(struct json_in *in, const json_t *array, const char *name, uint32_t i, const char *const *keys)
{
    const json_t *item = json_array_get(array, i);
    json_in_enter(in, name);
    json_in_enter_item(in, i);
    return json_in_keys(in, item, keys) ? item : NULL;
}

void read_item_done(struct json_in *in)
{
    json_in_leave(in);
    json_in_leave(in);
}

/* Ids are indices: they are in the file for people and their diffs. */
static void read_id(struct json_in *in, const json_t *item, uint32_t i)
{
    if (json_in_i64(in, item, "id", 0, UINT32_MAX) != i)
        json_in_fail(in, "id", ERR_BAD_DATA, "id must be %u, its place in the list", i);
}

static int read_keyword(struct json_in *in, const json_t *item, const char *key, const struct keywords *words)
{
    struct str text = json_in_str(in, item, key);
    for (int i = 1; i < words->n; i++)
        if (str_eq(text, str_of(words->names[i])))
            return i;
    json_in_fail(in, key, ERR_BAD_DATA, "unknown %s \"" STR_FMT "\"", key, STR_ARG(text));
    return 0;
}

static enum matcher_op read_matcher_op(struct json_in *in, const json_t *item)
{
    struct str text = json_in_str(in, item, "op");
    for (int op = MATCH_EQ; op <= MATCH_NRE; op++)
        if (str_eq(text, str_of(matcher_op_text((enum matcher_op)op))))
            return (enum matcher_op)op;
    json_in_fail(in, "op", ERR_BAD_DATA, "unknown matcher operator \"" STR_FMT "\"", STR_ARG(text));
    return MATCH_EQ;
}

static void read_source(struct json_in *in, const json_t *item, struct plan *p, struct plan_source *ret)
{
    static const char *const keys[] = {"name", "op", "value", NULL};
    struct matcher matchers[PLAN_MATCHERS_MAX];
    uint32_t n;
    const json_t *array = json_in_array(in, item, "matchers", PLAN_MATCHERS_MAX, &n);
    for (uint32_t i = 0; i < n && in->rc == 0; i++) {
        const json_t *m = read_item(in, array, "matchers", i, keys);
        enum matcher_op op = read_matcher_op(in, m);
        matchers[i] =
            (struct matcher){.op = op, .name = json_in_str(in, m, "name"), .value = json_in_str(in, m, "value")};
        if (in->rc == 0 && i > 0 && matcher_cmp(&matchers[i - 1], &matchers[i]) > 0)
            json_in_fail(in, NULL, ERR_BAD_DATA, "matchers must be sorted by name, op, value");
        read_item_done(in);
    }
    ret->lookback_ms = json_in_i64(in, item, "lookback_ms", 0, PLAN_MS_MAX);
    if (in->rc != 0)
        return;
    struct err reason;
    int rc = plan_add_matchers(p, matchers, n, &ret->matchers, &reason);
    if (rc != 0)
        json_in_fail(in, "matchers", rc, "%s", reason.message);
    ret->matchers_n = n;
}

static void read_sources(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"id", "matchers", "lookback_ms", NULL};
    const json_t *array = json_in_array(in, in->root, "sources", PLAN_NODES_MAX, &p->sources_n);
    struct plan_source *sources = read_room(in, p->sources_n, sizeof *sources);
    for (uint32_t i = 0; i < p->sources_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "sources", i, keys);
        read_id(in, item, i);
        read_source(in, item, p, &sources[i]);
        read_item_done(in);
    }
    p->sources = sources;
}

static void read_expr(struct json_in *in, const json_t *args, struct plan *p, struct plan_node *n)
{
    struct str text = json_in_str(in, args, "expr");
    if (in->rc != 0)
        return;
    struct err reason;
    int rc = plan_add_expr(p, text, &n->expr, &n->expr_text, &reason);
    if (rc != 0)
        json_in_fail(in, "expr", rc, "%s", reason.message);
    else if (!str_eq(text, n->expr_text))
        json_in_fail(in, "expr", ERR_BAD_DATA, "text_not_canonical: the canonical text is %.200s", n->expr_text.p);
}

static void read_args(struct json_in *in, const json_t *item, struct plan *p, struct plan_node *n)
{
    static const struct {
        uint32_t arg;
        const char *key;
    } names[] = {{ARG_SOURCE, "source"}, {ARG_VIEW, "view"},   {ARG_TIME, "offset_ms"},
                 {ARG_TIME, "at_ms"},    {ARG_COUNT, "count"}, {ARG_STATISTIC, "statistic"},
                 {ARG_STATISTIC, "q"},   {ARG_ROOT, "root"},   {ARG_EXPR, "expr"}};
    const char *keys[sizeof names / sizeof names[0] + 1];
    uint32_t has = plan_op_args(n->op), keys_n = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (has & names[i].arg)
            keys[keys_n++] = names[i].key;
    keys[keys_n] = NULL;

    const json_t *args = json_in_object(in, item, "args");
    json_in_enter(in, "args");
    json_in_keys(in, args, keys);
    if (has & ARG_SOURCE)
        n->source = json_in_u32(in, args, "source", PLAN_NODES_MAX - 1);
    if (has & ARG_VIEW)
        n->view = json_in_u32(in, args, "view", PLAN_VIEWS_MAX - 1);
    if (has & ARG_TIME) {
        n->offset_ms = json_in_i64(in, args, "offset_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
        n->anchored = !json_in_is_null(args, "at_ms");
        if (n->anchored)
            n->at_ms = json_in_i64(in, args, "at_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
    }
    if (has & ARG_COUNT)
        n->count = json_in_u32(in, args, "count", PLAN_PANES_MAX);
    if (has & ARG_STATISTIC) {
        struct str name = json_in_str(in, args, "statistic");
        n->statistic = statistic_by_name(name.p, name.n);
        if (n->statistic == STATISTIC_INVALID)
            json_in_fail(in, "statistic", ERR_BAD_DATA, "unknown statistic \"" STR_FMT "\"", STR_ARG(name));
        n->q = json_in_f64(in, args, "q");
    }
    if (has & ARG_ROOT)
        n->stored_root = json_in_u32(in, args, "root", PLAN_NODES_MAX - 1);
    if (has & ARG_EXPR)
        read_expr(in, args, p, n);
    json_in_leave(in);
}

/* Edges go into one array with room for every input of every node; inputs must be smaller ids, so they are bounded. */
static void read_inputs(struct json_in *in, const json_t *item, uint32_t id, uint32_t *edges, struct plan *p,
                        struct plan_node *n)
{
    const json_t *array = json_in_array(in, item, "in", INPUTS_MAX, &n->in_n);
    n->in_first = p->edges_n;
    json_in_enter(in, "in");
    for (uint32_t i = 0; i < n->in_n && in->rc == 0; i++) {
        json_in_enter_item(in, i);
        edges[p->edges_n++] = (uint32_t)json_in_item_i64(in, json_array_get(array, i), 0, (int64_t)id - 1);
        json_in_leave(in);
    }
    json_in_leave(in);
}

static void read_nodes(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"id", "op", "in", "half", "args", "out", NULL};
    const json_t *array = json_in_array(in, in->root, "nodes", PLAN_NODES_MAX, &p->nodes_n);
    size_t edges_n = 0;
    for (uint32_t i = 0; i < p->nodes_n; i++)
        edges_n += json_array_size(json_object_get(json_array_get(array, i), "in"));
    struct plan_node *nodes = read_room(in, p->nodes_n, sizeof *nodes);
    uint32_t *edges = read_room(in, edges_n, sizeof *edges);
    for (uint32_t i = 0; i < p->nodes_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "nodes", i, keys);
        read_id(in, item, i);
        struct str op = json_in_str(in, item, "op");
        nodes[i].op = plan_op_by_name(op);
        if (nodes[i].op == PLAN_OP_INVALID)
            json_in_fail(in, "op", ERR_BAD_DATA, "unknown operator \"" STR_FMT "\"", STR_ARG(op));
        read_inputs(in, item, i, edges, p, &nodes[i]);
        nodes[i].half = (enum plan_half)read_keyword(in, item, "half", &half_keywords);
        read_args(in, item, p, &nodes[i]);
        nodes[i].out = (enum plan_out)read_keyword(in, item, "out", &out_keywords);
        read_item_done(in);
    }
    p->nodes = nodes;
    p->edges = edges;
}

static void read_params(struct json_in *in, const json_t *item, struct sketch_params *ret)
{
    static const char *const keys[] = {"alpha", "k",    "max_bins", "p",       "depth",
                                       "width", "heap", "rows",     "columns", NULL};
    const struct {
        const char *key;
        uint32_t *value;
    } counters[] = {{"depth", &ret->depth},
                    {"width", &ret->width},
                    {"heap", &ret->heap},
                    {"rows", &ret->rows},
                    {"columns", &ret->columns}};
    const json_t *params = json_in_object(in, item, "params");
    json_in_enter(in, "params");
    json_in_keys(in, params, keys);
    if (json_in_has(params, "alpha"))
        ret->alpha = json_in_f64(in, params, "alpha");
    if (json_in_has(params, "k"))
        ret->k = json_in_u32(in, params, "k", UINT32_MAX);
    if (json_in_has(params, "max_bins"))
        ret->max_bins = json_in_u32(in, params, "max_bins", UINT32_MAX);
    if (json_in_has(params, "p"))
        ret->p = json_in_u32(in, params, "p", UINT32_MAX);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (json_in_has(params, counters[i].key))
            *counters[i].value = json_in_u32(in, params, counters[i].key, UINT32_MAX);
    json_in_leave(in);
}

static void read_reduce(struct json_in *in, const json_t *item, struct plan_view *v)
{
    v->per_series = json_in_is_null(item, "reduce");
    if (v->per_series)
        return;
    const json_t *array = json_in_array(in, item, "reduce", REDUCE_MAX, &v->reduce_n);
    struct str *reduce = read_room(in, v->reduce_n, sizeof *reduce);
    json_in_enter(in, "reduce");
    for (uint32_t i = 0; i < v->reduce_n && in->rc == 0; i++) {
        json_in_enter_item(in, i);
        reduce[i] = json_in_item_str(in, json_array_get(array, i));
        json_in_leave(in);
    }
    json_in_leave(in);
    v->reduce = reduce;
}

static void read_view(struct json_in *in, const json_t *item, struct plan_view *v)
{
    struct str identity = json_in_str(in, item, "identity");
    if (!identity_parse(identity, v->identity))
        json_in_fail(in, "identity", ERR_BAD_DATA, "an identity is %d lower-case hex digits", 2 * IDENTITY_BYTES);
    v->node = json_in_u32(in, item, "node", PLAN_NODES_MAX - 1);
    v->source = json_in_u32(in, item, "source", PLAN_NODES_MAX - 1);
    struct str input = json_in_str(in, item, "input");
    if (!view_input_parse(input, &v->input))
        json_in_fail(in, "input", ERR_BAD_DATA, "unknown input \"" STR_FMT "\": value, series or label NAME",
                     STR_ARG(input));
    struct str family = json_in_str(in, item, "family");
    const struct family_info *info = family_by_name(family.p, family.n);
    if (info)
        v->family = info->family;
    else
        json_in_fail(in, "family", ERR_BAD_DATA, "unknown family \"" STR_FMT "\"", STR_ARG(family));
    read_params(in, item, &v->params);
    read_reduce(in, item, v);
    v->panes.step_ms = json_in_i64(in, item, "width_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
    v->panes.phase_ms = json_in_i64(in, item, "phase_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
    v->panes_n = json_in_u32(in, item, "panes", PLAN_PANES_MAX);
    v->retention_ms = json_in_i64(in, item, "retention_ms", 0, PLAN_MS_MAX);
    v->backfill_ms = json_in_i64(in, item, "backfill_ms", 0, PLAN_MS_MAX);
    v->when = (enum plan_when)read_keyword(in, item, "when", &when_keywords);
    v->level_of = PLAN_NONE;
    if (!json_in_is_null(item, "level_of"))
        v->level_of = json_in_u32(in, item, "level_of", PLAN_VIEWS_MAX - 1);
}

static void read_views(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"id",          "identity", "node",     "source",   "input", "family",
                                       "params",      "reduce",   "width_ms", "phase_ms", "panes", "retention_ms",
                                       "backfill_ms", "when",     "level_of", NULL};
    const json_t *array = json_in_array(in, in->root, "views", PLAN_VIEWS_MAX, &p->views_n);
    struct plan_view *views = read_room(in, p->views_n, sizeof *views);
    for (uint32_t i = 0; i < p->views_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "views", i, keys);
        read_id(in, item, i);
        read_view(in, item, &views[i]);
        read_item_done(in);
    }
    p->views = views;
}

static void read_stored_roots(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"id", "node", "grid_ms", "phase_ms", "retention_ms", NULL};
    const json_t *array = json_in_array(in, in->root, "stored_roots", PLAN_VIEWS_MAX, &p->stored_roots_n);
    struct plan_stored_root *roots = read_room(in, p->stored_roots_n, sizeof *roots);
    for (uint32_t i = 0; i < p->stored_roots_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "stored_roots", i, keys);
        read_id(in, item, i);
        roots[i].node = json_in_u32(in, item, "node", PLAN_NODES_MAX - 1);
        roots[i].grid.step_ms = json_in_i64(in, item, "grid_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
        roots[i].grid.phase_ms = json_in_i64(in, item, "phase_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
        roots[i].retention_ms = json_in_i64(in, item, "retention_ms", 0, PLAN_MS_MAX);
        read_item_done(in);
    }
    p->stored_roots = roots;
}

static void read_solver(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"status", "bound", "gap", "variables", "rows", NULL};
    const json_t *solver = json_in_object(in, in->root, "solver");
    json_in_enter(in, "solver");
    json_in_keys(in, solver, keys);
    p->solver.status = json_in_str(in, solver, "status");
    p->solver.bound = json_in_f64(in, solver, "bound");
    p->solver.gap = json_in_f64(in, solver, "gap");
    p->solver.variables = json_in_u32(in, solver, "variables", UINT32_MAX);
    p->solver.rows = json_in_u32(in, solver, "rows", UINT32_MAX);
    json_in_leave(in);
}

/* Before anything else: a newer file may have keys that this program does not know. */
static void read_format(struct json_in *in)
{
    struct str format = json_in_str(in, in->root, "format"), prefix = STR(PLAN_FORMAT_PREFIX);
    if (in->rc != 0)
        return;
    char ours[64];
    int n = snprintf(ours, sizeof ours, PLAN_FORMAT_PREFIX "%d", PLAN_FORMAT_VERSION);
    if (str_eq(format, (struct str){ours, (size_t)n}))
        return;
    bool digits = str_has_prefix(format, prefix) && format.n > prefix.n;
    for (size_t i = prefix.n; i < format.n && digits; i++)
        digits = format.p[i] >= '0' && format.p[i] <= '9';
    if (digits && format.p[prefix.n] != '0')
        json_in_fail(in, "format", ERR_VERSION,
                     "the plan is %.60s, this program reads " PLAN_FORMAT_PREFIX "%d at most: use a newer mullion",
                     format.p, PLAN_FORMAT_VERSION);
    else
        json_in_fail(in, "format", ERR_BAD_DATA, "not a plan file: format \"%.60s\" is not %s", format.p, ours);
}

static void read_seed(struct json_in *in, struct plan *p)
{
    struct str text = json_in_str(in, in->root, "sketch_seed");
    bool is_hex = text.n == 16;
    for (size_t i = 0; i < text.n && is_hex; i++) {
        char c = text.p[i];
        is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        p->sketch_seed = p->sketch_seed << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (!is_hex)
        json_in_fail(in, "sketch_seed", ERR_BAD_DATA, "sketch_seed is 16 lower-case hex digits");
}

static void read_plan(struct json_in *in, struct plan *p)
{
    static const char *const keys[] = {"format",       "sketch_seed", "sources", "nodes", "views",
                                       "stored_roots", "queries",     "solver",  NULL};
    if (!json_is_object(in->root))
        json_in_fail(in, NULL, ERR_BAD_DATA, "a plan file is one JSON object");
    read_format(in);
    json_in_keys(in, in->root, keys);
    read_seed(in, p);
    read_sources(in, p);
    read_nodes(in, p);
    read_views(in, p);
    read_stored_roots(in, p);
    read_queries(in, in->root, p);
    read_solver(in, p);
}

int plan_read(struct str text, struct plan **ret, struct err *e)
{
    if (text.n > PLAN_FILE_MAX_BYTES)
        return err_set(e, ERR_TOO_LARGE, "a plan file of %zu bytes, the most is %d", text.n, PLAN_FILE_MAX_BYTES);
    struct plan *p = plan_new();
    struct json_in in;
    int rc = json_in_init(&in, text, p->arena, e);
    if (rc == 0) {
        read_plan(&in, p);
        rc = in.rc;
    }
    json_in_done(&in);
    if (rc == 0)
        rc = plan_check(p, e);
    if (rc == 0)
        rc = plan_groups(p, e);
    if (rc != 0) {
        plan_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

/* The whole file on the heap, at most PLAN_FILE_MAX_BYTES + 1 of it. */
static int read_file(int fd, const char *path, struct strbuf *ret, struct err *e)
{
    while (ret->n <= PLAN_FILE_MAX_BYTES) {
        size_t more = 64 << 10;
        strbuf_reserve(ret, more);
        ssize_t n = read(fd, ret->p + ret->n, more);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(e, errno, "cannot read the plan file %s", path);
        if (n == 0)
            break;
        ret->n += (size_t)n;
    }
    return 0;
}

int plan_read_path(const char *path, struct plan **ret, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "cannot open the plan file %s", path);
    struct strbuf text = {0};
    int rc = read_file(fd, path, &text, e);
    close(fd);
    if (rc == 0) {
        rc = plan_read((struct str){text.p, text.n}, ret, e);
        if (rc != 0)
            err_prefix(e, "%s", path);
    }
    strbuf_done(&text);
    return rc;
}
