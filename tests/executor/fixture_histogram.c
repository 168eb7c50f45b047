#include "fixture_histogram.h"

#include "base/histogram_literal.h"

const struct histogram *fixture_parse_histogram(const char *text, struct arena *a, const char **rest)
{
    const char *end = strstr(text, "}}");
    ck_assert_msg(strncmp(text, "{{", 2) == 0 && end != NULL, "no histogram: %s", text);
    const char *inside = arena_strndup(a, text + 2, (size_t)(end - text - 2));
    struct histogram *h = histogram_literal(inside, 0.001, a);
    if (histogram_is_custom(h))
        h->zero_threshold = 0;
    *rest = end + 2;
    return h;
}
