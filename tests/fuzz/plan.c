/* Plan files: what is accepted is written to a text that reads back and is written as itself, and can be explained. */
#include "fuzz.h"
#include "plan/explain.h"
#include "plan/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan *plan = NULL, *again = NULL;
    struct strbuf text = {0}, text_again = {0}, picture = {0};
    struct err e = {0};
    if (plan_read((struct str){(const char *)data, size}, &plan, &e) != 0)
        return 0;
    plan_write(plan, &text);
    MUST(plan_read((struct str){text.p, text.n}, &again, &e) == 0);
    plan_write(again, &text_again);
    MUST(str_eq((struct str){text.p, text.n}, (struct str){text_again.p, text_again.n}));
    plan_explain(plan, &picture);
    plan_dot(plan, &picture);
    plan_free(plan);
    plan_free(again);
    strbuf_done(&text);
    strbuf_done(&text_again);
    strbuf_done(&picture);
    return 0;
}
