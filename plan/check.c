#include "plan/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "plan/check_internal.h"

/* A group site takes a string an argument or label of one expression. */
#define CHECK_SITE_BYTES ((size_t)64 << 20)

int check_fail(struct check *c, const char *what, uint32_t id, const char *rule, const char *format, ...)
{
    char sentence[sizeof c->e->message];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return err_set(c->e, ERR_BAD_DATA, "%s %u: %s: %s", what, id, rule, sentence);
}

int check_fail_node(struct check *c, uint32_t id, const char *rule, const char *format, ...)
{
    char sentence[sizeof c->e->message];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return err_set(c->e, ERR_BAD_DATA, "node %u (%s): %s: %s", id, plan_op_name(c->p->nodes[id].op), rule, sentence);
}

int plan_check(const struct plan *p, struct err *e)
{
    static int (*const parts[])(struct check *) = {check_shapes, check_nodes,        check_order,
                                                   check_views,  check_stored_roots, check_queries};
    int rc = p->arena ? arena_check(p->arena, "plan", e) : 0;
    struct check c = {.p = p, .e = e};
    arena_init(&c.site, CHECK_SITE_BYTES);
    c.seen = mem_zalloc((size_t)p->nodes_n * sizeof *c.seen);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && rc == 0; i++)
        rc = parts[i](&c);
    mem_free(c.seen);
    mem_free(c.todo);
    mem_free(c.views);
    mem_free(c.operands);
    arena_done(&c.site);
    strbuf_done(&c.text);
    return rc;
}
