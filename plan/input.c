#include "plan/input.h"

#include <xxhash.h>

#include "base/map.h"

static const struct str label_prefix = {"label ", 6};

bool view_input_parse(struct str text, struct view_input *ret)
{
    struct view_input in = {0};
    if (str_eq(text, STR("value")))
        in.kind = INPUT_VALUE;
    else if (str_eq(text, STR("series")))
        in.kind = INPUT_SERIES;
    else if (text.n > label_prefix.n && memcmp(text.p, label_prefix.p, label_prefix.n) == 0)
        in = (struct view_input){INPUT_LABEL, {text.p + label_prefix.n, text.n - label_prefix.n}};
    if (in.kind == 0 || (in.kind == INPUT_LABEL && !utf8_valid(in.label.p, in.label.n)))
        return false;
    *ret = in;
    return true;
}

struct str view_input_text(const struct view_input *in, struct arena *a)
{
    if (in->kind != INPUT_LABEL)
        return in->kind == INPUT_SERIES ? STR("series") : STR("value");
    char *text = arena_alloc(a, label_prefix.n + in->label.n + 1);
    if (!text)
        return (struct str){0};
    memcpy(text, label_prefix.p, label_prefix.n);
    memcpy(text + label_prefix.n, in->label.p, in->label.n);
    text[label_prefix.n + in->label.n] = 0;
    return (struct str){text, label_prefix.n + in->label.n};
}

bool view_input_eq(const struct view_input *a, const struct view_input *b)
{
    return a->kind == b->kind && (a->kind != INPUT_LABEL || str_eq(a->label, b->label));
}

bool view_input_fits(const struct view_input *in, enum family family, bool per_series)
{
    if (per_series)
        return in->kind == INPUT_VALUE;
    switch (family) {
    case FAMILY_SUM:
    case FAMILY_COUNT:
    case FAMILY_MIN:
    case FAMILY_MAX:
        return in->kind == INPUT_VALUE;
    case FAMILY_HLL:
    case FAMILY_KMV:
    case FAMILY_CMS:
    case FAMILY_COUNTSKETCH:
    case FAMILY_CMS_HEAP:
    case FAMILY_COUNTSKETCH_HEAP:
    case FAMILY_UNIVMON:
        return in->kind == INPUT_LABEL || in->kind == INPUT_SERIES;
    default:
        return false;
    }
}

bool view_input_item(const struct view_input *in, const struct labels *labels, uint64_t *ret)
{
    if (in->kind == INPUT_SERIES) {
        *ret = labels_hash(labels, 0);
        return true;
    }
    struct str value = labels_get(labels, in->label);
    if (value.n == 0)
        return false;
    *ret = XXH3_64bits(value.p, value.n);
    return true;
}
