/*
 * Measures the parser against a corpus: JSON lines with "expr" and "promtool_ok" (whether Prometheus' own tool accepts
 * it). Prints how many of the accepted ones parse and print to a fixpoint, and which of the refused ones parse.
 *
 *     corpus_check FILE.jsonl
 *
 * Exit status 1 when an accepted expression fails.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "promql/parse.h"
#include "promql/print.h"

struct counts {
    size_t good_n, parsed_n, fixpoint_n, bad_n, bad_accepted_n;
};

/* parse(print(t)) equals t, and printing it again changes nothing. */
static bool is_fixpoint(const struct parsed *first, struct arena *a)
{
    struct parsed second;
    struct err e;
    struct str text = expr_text(first->root, a);
    if (promql_parse(text, a, &second, &e)) {
        printf("  printed form refused: " STR_FMT "\n  %s\n", STR_ARG(text), e.message);
        return false;
    }
    bool same = expr_equal(first->root, second.root) && expr_hash(first->root) == expr_hash(second.root) &&
                str_eq(text, expr_text(second.root, a));
    if (!same)
        printf("  printed form differs: " STR_FMT "\n", STR_ARG(text));
    parsed_done(&second);
    return same;
}

static void check_expr(const char *expr, bool good, struct counts *c)
{
    struct arena a;
    struct parsed parsed;
    struct err e;
    arena_init(&a, 0);
    int code = promql_parse(str_of(expr), &a, &parsed, &e);
    *(good ? &c->good_n : &c->bad_n) += 1;
    if (code == 0 && good) {
        c->parsed_n++;
        if (is_fixpoint(&parsed, &a))
            c->fixpoint_n++;
        else
            printf("not a fixpoint: %s\n", expr);
    } else if (code == 0) {
        c->bad_accepted_n++;
        printf("accepted: %s\n", expr);
    } else if (good) {
        printf("refused: %s\n  %s\n", expr, e.message);
    }
    if (code == 0)
        parsed_done(&parsed);
    arena_done(&a);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: corpus_check FILE.jsonl\n");
        return 2;
    }
    FILE *f = fopen(argv[1], "r");
    if (!f) {
        perror(argv[1]);
        return 2;
    }
    struct counts c = {0};
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, f) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        const char *expr = json_string_value(json_object_get(row, "expr"));
        if (expr)
            check_expr(expr, json_is_true(json_object_get(row, "promtool_ok")), &c);
        json_decref(row);
    }
    free(line);
    fclose(f);
    printf("parsed %zu of %zu promtool_ok, fixpoint %zu\n", c.parsed_n, c.good_n, c.fixpoint_n);
    printf("refused %zu of %zu others\n", c.bad_n - c.bad_accepted_n, c.bad_n);
    return c.parsed_n != c.good_n || c.fixpoint_n != c.good_n;
}
