#include "executor/note_histogram.h"

#include <stdio.h>

typedef void notes_say(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `text`, then the quoted name behind `before_name` (NULL: no name in it), then the place. */
static void say(struct eval *ev, notes_say *add, const char *text, const char *before_name, struct str name,
                uint32_t byte)
{
    char place[EVAL_PLACE_MAX];
    struct str where = eval_place(ev, byte, place);
    struct strbuf quoted = {0};
    if (before_name) {
        strbuf_add_z(&quoted, before_name);
        strbuf_add_go_quoted(&quoted, name);
    }
    add(ev->notes, "%s" STR_FMT STR_FMT, text, (int)quoted.n, quoted.p ? quoted.p : "", STR_ARG(where));
    strbuf_done(&quoted);
}

static void say_joined(struct eval *ev, notes_say *add, const char *text, const char *end, uint32_t byte)
{
    char place[EVAL_PLACE_MAX];
    struct str where = eval_place(ev, byte, place);
    add(ev->notes, "%s%s" STR_FMT, text, end, STR_ARG(where));
}

void note_mixed_range(struct eval *ev, struct str name, uint32_t byte)
{
    say(ev, notes_warn, "PromQL warning: encountered a mix of histograms and floats for", " metric name ", name, byte);
}

void note_mixed_group(struct eval *ev, uint32_t byte)
{
    say_joined(ev, notes_warn, "PromQL warning: encountered a mix of histograms and floats for", " aggregation", byte);
}

void note_mixed_classic(struct eval *ev, struct str name, uint32_t byte)
{
    say(ev, notes_warn, "PromQL warning: vector contains a mix of classic and native histograms",
        name.n ? " for metric name " : NULL, name, byte);
}

void note_layouts_differ(struct eval *ev, const char *operator_text, uint32_t byte)
{
    say_joined(ev, notes_warn, "PromQL warning: incompatible bucket layout encountered for binary operator ",
               operator_text, byte);
}

void note_ignored_in_range(struct eval *ev, struct str name, uint32_t byte)
{
    say(ev, notes_info,
        "PromQL info: ignored histograms in a range containing both floats and histograms for metric name", " ", name,
        byte);
}

void note_ignored_in_group(struct eval *ev, const char *aggregation, uint32_t byte)
{
    char text[64];
    snprintf(text, sizeof text, "%s aggregation", aggregation);
    say_joined(ev, notes_info, "PromQL info: ignored histogram in ", text, byte);
}

void note_types(struct eval *ev, bool left_histogram, const char *operator_text, bool right_histogram, uint32_t byte)
{
    char text[96];
    snprintf(text, sizeof text, "\"%s\": %s %s %s", operator_text, left_histogram ? "histogram" : "float",
             operator_text, right_histogram ? "histogram" : "float");
    say_joined(ev, notes_info, "PromQL info: incompatible sample types encountered for binary operator ", text, byte);
}

static const struct {
    unsigned bit;
    notes_say *add;
    const char *text;
    const char *before_name; /* NULL: no name in it */
    bool any_name;           /* an empty one is named too */
} bit_notes[] = {
    {HISTOGRAM_INCOMPATIBLE, notes_warn,
     "PromQL warning: vector contains a mix of histograms with exponential and custom buckets schemas for metric name",
     " ", true},
    {HISTOGRAM_NOT_COUNTER, notes_warn, "PromQL warning: this native histogram metric is not a counter:", " ", true},
    {HISTOGRAM_NOT_GAUGE, notes_warn, "PromQL warning: this native histogram metric is not a gauge:", " ", true},
    {HISTOGRAM_RESETS_IN_ADD, notes_warn, "PromQL warning: conflicting counter resets during histogram addition"},
    {HISTOGRAM_RESETS_IN_SUB, notes_warn, "PromQL warning: conflicting counter resets during histogram subtraction"},
    {HISTOGRAM_RESETS_IN_AGG, notes_warn, "PromQL warning: conflicting counter resets during histogram aggregation"},
    {HISTOGRAM_BOUNDS_IN_ADD, notes_info, "PromQL info: mismatched custom buckets were reconciled during addition"},
    {HISTOGRAM_BOUNDS_IN_SUB, notes_info, "PromQL info: mismatched custom buckets were reconciled during subtraction"},
    {HISTOGRAM_BOUNDS_IN_AGG, notes_info, "PromQL info: mismatched custom buckets were reconciled during aggregation"},
    {HISTOGRAM_NAN_RESULT, notes_info, "PromQL info: input to histogram_quantile has NaN observations, result is NaN",
     " for metric name "},
    {HISTOGRAM_NAN_SKEW, notes_info,
     "PromQL info: input to histogram_quantile has NaN observations, result is skewed higher", " for metric name "},
    {HISTOGRAM_NAN_FRACTION, notes_info,
     "PromQL info: input to histogram_fraction has NaN observations, which are excluded from all fractions",
     " for metric name "},
};

void note_histogram_bits(struct eval *ev, unsigned bits, struct str name, uint32_t byte)
{
    for (size_t i = 0; bits && i < sizeof bit_notes / sizeof *bit_notes; i++) {
        const char *before = name.n || bit_notes[i].any_name ? bit_notes[i].before_name : NULL;
        if (bits & bit_notes[i].bit)
            say(ev, bit_notes[i].add, bit_notes[i].text, before, name, byte);
    }
}
