/* label_replace() and label_join(): labels from labels. Points are not looked at; they are shared with the argument. */
#include "executor/apply.h"

static int check_name(const struct apply *c, const char *which, struct str name, struct err *e)
{
    if (label_name_utf8(name))
        return 0;
    return err_set(e, ERR_EXECUTION, "invalid %s label name in %s(): " STR_FMT, which, c->expr->function->name,
                   STR_ARG(name));
}

/* args[0] with its arrays, to give new labels to. */
static int relabel_begin(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    int code = apply_make_vector(c, vector->series_n, ret, e);
    if (code != 0)
        return code;
    if (vector->series_n)
        memcpy(ret->series, vector->series, vector->series_n * sizeof *ret->series);
    ret->series_n = vector->series_n;
    ret->ordered = vector->ordered;
    return 0;
}

/* A new __name__ is meant to stay. */
static int set_label(const struct apply *c, struct vec_series *s, struct str name, const struct strbuf *value,
                     struct err *e)
{
    struct labels with;
    const char *copy = arena_strndup(c->ev->arena, value->p, value->n);
    if (!copy)
        return apply_full(c, e);
    labels_with(&s->labels, name, (struct str){copy, value->n}, c->ev->arena, &with);
    s->labels = with;
    if (str_eq(name, STR(LABEL_NAME)))
        s->drop_name = false;
    return eval_check(c->ev, 0, e);
}

int label_replace_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct str name = c->args[1].string, replacement = c->args[2].string, source = c->args[3].string;
    struct str pattern = c->args[4].string;
    struct regex *regex;
    if (regex_new(pattern, &regex, e) != 0)
        return err_set(e, ERR_EXECUTION, "invalid regular expression in label_replace(): " STR_FMT, STR_ARG(pattern));
    int code = check_name(c, "destination", name, e);
    if (code == 0)
        code = relabel_begin(c, ret, e);
    struct strbuf value = {0};
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
        strbuf_clear(&value);
        if (regex_replace(regex, labels_get(&ret->series[s].labels, source), replacement, &value))
            code = set_label(c, &ret->series[s], name, &value, e);
    }
    strbuf_done(&value);
    regex_free(regex);
    return code != 0 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}

int label_join_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct str name = c->args[1].string, separator = c->args[2].string;
    int code = 0;
    for (uint32_t i = 3; i < c->expr->args_n && code == 0; i++)
        code = check_name(c, "source", c->args[i].string, e);
    if (code == 0)
        code = check_name(c, "destination", name, e);
    if (code == 0)
        code = relabel_begin(c, ret, e);
    struct strbuf value = {0};
    for (uint32_t s = 0; code == 0 && s < ret->series_n; s++) {
        strbuf_clear(&value);
        for (uint32_t i = 3; i < c->expr->args_n; i++) {
            if (i > 3)
                strbuf_add_str(&value, separator);
            strbuf_add_str(&value, labels_get(&ret->series[s].labels, c->args[i].string));
        }
        code = set_label(c, &ret->series[s], name, &value, e);
    }
    strbuf_done(&value);
    return code != 0 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}
