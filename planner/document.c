#include "planner/document.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/alloc.h"
#include "planner/intern.h"

struct open_node { /* a list or mapping whose end was not met yet */
    struct node *node;
    struct node_item *last;
    const struct node *key; /* mapping: read, its value not yet */
};
struct loader {
    struct document *d;
    yaml_parser_t parser;
    yaml_event_t event;
    struct open_node open[DOCUMENT_DEPTH_MAX];
    uint32_t depth;
    struct intern anchors;
    const struct node **anchored; /* by anchor number; the newest of a name */
    size_t anchored_cap;
    uint32_t nodes_n, documents_n;
    const struct node *root;
};

struct document_problem {
    uint32_t line, column, number;
    char *message; /* owned */
};

__attribute__((format(printf, 4, 0))) static void problem_va(struct document *d, uint32_t line, uint32_t column,
                                                             const char *format, va_list args)
{
    uint32_t number = d->found_n++;
    if (number >= PROBLEMS_MAX)
        return;
    char message[1200];
    int n = vsnprintf(message, sizeof message, format, args);
    size_t kept_n = n < 0 ? 0 : (size_t)n < sizeof message ? (size_t)n : sizeof message - 1;
    message[kept_n] = 0;
    d->found = mem_grow(d->found, &d->found_cap, d->found_n, sizeof *d->found);
    d->found[number] = (struct document_problem){line, column, number, mem_dup(message, kept_n + 1)};
}

static int by_place_then_number(const void *pa, const void *pb)
{
    const struct document_problem *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

uint32_t document_done(struct document *d, struct problems *problems)
{
    uint32_t found_n = d->found_n, kept_n = found_n < PROBLEMS_MAX ? found_n : PROBLEMS_MAX;
    if (kept_n > 1)
        qsort(d->found, kept_n, sizeof *d->found, by_place_then_number);
    for (uint32_t i = 0; i < kept_n; i++) {
        strbuf_printf(&problems->text, "%s:%u:%u: %s\n", d->file, d->found[i].line, d->found[i].column,
                      d->found[i].message);
        mem_free(d->found[i].message);
    }
    if (found_n > kept_n)
        strbuf_printf(&problems->text, "%s: %u more problems are not listed\n", d->file, found_n - kept_n);
    mem_free(d->found);
    problems->n += found_n;
    return found_n;
}

void document_problem_at(struct document *d, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem_va(d, line, column, format, args);
    va_end(args);
}

void document_problem(struct document *d, const struct node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem_va(d, at ? at->line : 1, at ? at->column : 1, format, args);
    va_end(args);
}

bool document_visit(struct document *d)
{
    if (d->visits < DOCUMENT_VISITS_MAX) {
        d->visits++;
        return true;
    }
    if (d->visits++ == DOCUMENT_VISITS_MAX)
        document_problem(d, NULL, "aliases make this file stand for more than %d values; write fewer",
                         DOCUMENT_VISITS_MAX);
    return false;
}

static uint32_t event_line(const struct loader *l)
{
    return (uint32_t)l->event.start_mark.line + 1;
}

static uint32_t event_column(const struct loader *l)
{
    return (uint32_t)l->event.start_mark.column + 1;
}

static struct node *add_node(struct loader *l, enum node_kind kind)
{
    if (++l->nodes_n > DOCUMENT_NODES_MAX) {
        document_problem_at(l->d, event_line(l), event_column(l), "more than %d values in one file; split it",
                            DOCUMENT_NODES_MAX);
        return NULL;
    }
    struct node *n = ARENA_NEW(l->d->arena, struct node);
    if (n) {
        n->kind = kind;
        n->line = event_line(l);
        n->column = event_column(l);
    }
    return n;
}

/* Hang a finished or just opened node into the innermost open one. */
static bool place_node(struct loader *l, const struct node *n)
{
    if (l->depth == 0) {
        l->root = n;
        return true;
    }
    struct open_node *in = &l->open[l->depth - 1];
    if (in->node->kind == NODE_MAPPING && !in->key) {
        in->key = n;
        return true;
    }
    struct node_item *item = ARENA_NEW(l->d->arena, struct node_item);
    if (!item)
        return false;
    *item = (struct node_item){in->key, n, NULL};
    if (in->last)
        in->last->next = item;
    else
        in->node->first = item;
    in->last = item;
    in->node->n++;
    in->key = NULL;
    return true;
}

static void remember_anchor(struct loader *l, const yaml_char_t *anchor, const struct node *n)
{
    if (!anchor)
        return;
    uint32_t id = intern(&l->anchors, anchor, strlen((const char *)anchor), NULL);
    l->anchored = mem_grow(l->anchored, &l->anchored_cap, id + 1, sizeof *l->anchored);
    l->anchored[id] = n;
}

static bool take_scalar(struct loader *l)
{
    struct node *n = add_node(l, NODE_SCALAR);
    if (!n)
        return false;
    const yaml_event_t *ev = &l->event;
    size_t length = ev->data.scalar.length;
    n->text = (struct str){arena_strndup(l->d->arena, (const char *)ev->data.scalar.value, length), length};
    if (!n->text.p)
        return false;
    /* As many characters in the file as in the value: nothing was folded or escaped. */
    size_t characters = 0;
    for (size_t i = 0; i < length; i++)
        characters += ((unsigned char)n->text.p[i] & 0xc0) != 0x80;
    uint32_t quote = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 1;
    n->verbatim = ev->start_mark.line == ev->end_mark.line &&
                  ev->data.scalar.style <= YAML_DOUBLE_QUOTED_SCALAR_STYLE && !ev->data.scalar.anchor &&
                  !ev->data.scalar.tag && ev->end_mark.column - ev->start_mark.column == characters + 2 * quote;
    n->text_column = n->column + quote;
    if (ev->data.scalar.tag && strcmp((const char *)ev->data.scalar.tag, "!") != 0)
        document_problem(l->d, n, "tags such as %s are not used here; leave it out", ev->data.scalar.tag);
    remember_anchor(l, ev->data.scalar.anchor, n);
    return place_node(l, n);
}

static bool take_start(struct loader *l, enum node_kind kind, const yaml_char_t *anchor)
{
    if (l->depth == DOCUMENT_DEPTH_MAX) {
        document_problem_at(l->d, event_line(l), event_column(l), "nested deeper than %d levels", DOCUMENT_DEPTH_MAX);
        return false;
    }
    struct node *n = add_node(l, kind);
    if (!n || !place_node(l, n))
        return false;
    remember_anchor(l, anchor, n);
    l->open[l->depth++] = (struct open_node){n, NULL, NULL};
    return true;
}

static bool take_alias(struct loader *l)
{
    const char *name = (const char *)l->event.data.alias.anchor;
    int64_t id = intern_find(&l->anchors, name, strlen(name));
    if (id < 0) {
        document_problem_at(l->d, event_line(l), event_column(l), "no anchor &%s before this alias", name);
        return false;
    }
    const struct node *n = l->anchored[id];
    for (uint32_t i = 0; i < l->depth; i++) {
        if (l->open[i].node == n) {
            document_problem_at(l->d, event_line(l), event_column(l), "alias *%s stands inside what it names", name);
            return false;
        }
    }
    return place_node(l, n);
}

static bool take_event(struct loader *l)
{
    switch (l->event.type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(l);
    case YAML_SEQUENCE_START_EVENT:
        return take_start(l, NODE_LIST, l->event.data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return take_start(l, NODE_MAPPING, l->event.data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        l->depth--;
        return true;
    case YAML_ALIAS_EVENT:
        return take_alias(l);
    case YAML_DOCUMENT_START_EVENT:
        if (l->documents_n++ == 0)
            return true;
        document_problem_at(l->d, event_line(l), event_column(l), "a second document; a workload is one document");
        return false;
    default:
        return true;
    }
}

static bool load_events(struct loader *l)
{
    for (;;) {
        if (!yaml_parser_parse(&l->parser, &l->event)) {
            const yaml_parser_t *p = &l->parser;
            uint32_t line = (uint32_t)p->problem_mark.line + 1, column = (uint32_t)p->problem_mark.column + 1;
            document_problem_at(l->d, line, column, "not YAML: %s%s%s", p->problem ? p->problem : "unreadable",
                                p->context ? " " : "", p->context ? p->context : "");
            return false;
        }
        bool end = l->event.type == YAML_STREAM_END_EVENT;
        bool ok = take_event(l);
        yaml_event_delete(&l->event);
        if (end || !ok)
            return ok;
    }
}

void document_load(struct document *d, struct str text, const char *file, struct arena *arena)
{
    *d = (struct document){.file = file, .arena = arena};
    if (text.n > WORKLOAD_MAX_BYTES) {
        document_problem(d, NULL, "larger than %d bytes; split it", WORKLOAD_MAX_BYTES);
        return;
    }
    struct loader *l = mem_zalloc(sizeof *l);
    l->d = d;
    intern_init(&l->anchors, arena);
    if (yaml_parser_initialize(&l->parser)) {
        yaml_parser_set_input_string(&l->parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
        bool ok = load_events(l);
        yaml_parser_delete(&l->parser);
        if (ok && !l->root)
            document_problem(d, NULL, "the file is empty; a workload has at least `queries`");
        d->root = ok ? l->root : NULL;
    }
    intern_done(&l->anchors);
    mem_free(l->anchored);
    mem_free(l);
}
