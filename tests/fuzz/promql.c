/* PromQL: what parses prints to a text that parses to the same tree and prints to itself; so does the pretty form. */
#include "fuzz.h"
#include "promql/parse.h"
#include "promql/print.h"

enum { MEMORY_MAX = 256 << 20, TEXT_MAX = 1 << 14 };

static void must_print_to(struct str text, const struct expr *want, struct str want_text, struct arena *a)
{
    struct parsed again = {0};
    struct err e = {0};
    MUST(promql_parse(text, a, &again, &e) == 0);
    MUST(expr_equal(again.root, want) && expr_hash(again.root) == expr_hash(want));
    MUST(str_eq(expr_text(again.root, a), want_text));
    parsed_done(&again);
}

static void resolve(const struct expr *root, struct arena *a)
{
    struct expr *resolved;
    struct err e = {0};
    if (expr_resolve(root, 1700000000000, 1700003600000, 15000, a, &resolved, &e) == 0)
        expr_text(resolved, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct parsed parsed = {0};
    struct err e = {0};
    struct str text = {(const char *)data, size};
    if (size > TEXT_MAX)
        return 0;
    arena_init(&a, MEMORY_MAX);
    if (promql_parse(text, &a, &parsed, &e) == 0) {
        struct strbuf pretty = {0};
        struct str canonical = expr_text(parsed.root, &a);
        must_print_to(canonical, parsed.root, canonical, &a);
        expr_print_pretty(parsed.root, &pretty);
        must_print_to((struct str){pretty.p, pretty.n}, parsed.root, canonical, &a);
        strbuf_done(&pretty);
        resolve(parsed.root, &a);
        parsed_done(&parsed);
    }
    struct parsed selector = {0};
    if (promql_parse_selector(text, &a, &selector, &e) == 0)
        parsed_done(&selector);
    arena_done(&a);
    return 0;
}
