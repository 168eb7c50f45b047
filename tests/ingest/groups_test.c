/* States by labels, from what is sent to what is kept: every input and family, whatever happens in between. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "ingest/group_model.h"
#include "suite.h"

enum { ALL_VIEWS = (1 << MODEL_VIEWS) - 1 };

static struct rig rig;
static unsigned long long state;
static uint32_t mask;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((state >> 33) % below);
}

static struct plan *plan_of(const struct rig *r)
{
    return model_plan(r, mask);
}

static void open_engine(uint32_t views)
{
    mask = views;
    rig.plan_of = plan_of;
    rig_open(&rig, NULL);
}

static void done(void)
{
    rig_done(&rig);
    model_reset();
    rig = (struct rig){0};
}

static const char *const names[] = {
    "m{g=\"1\",h=\"a\",l=\"x\"}",
    "m{g=\"1\",h=\"a\",l=\"y\"}",
    "m{g=\"1\",h=\"b\",l=\"x\"}",
    "m{g=\"2\",h=\"b\",l=\"z\"}",
    "m{g=\"2\",l=\"x\"}",
    "m{h=\"b\",l=\"y\"}",
    "m{g=\"3\",h=\"a\"}",
    "m{l=\"w\"}",
    "m",
    "m{g=\"2\",h=\"b\",l=\"w\"}",
    "n{g=\"1\"}",
    "n{g=\"7\"}",
};
enum { SERIES = sizeof names / sizeof *names };

/* A round of samples each 10 s or so; some are held back. Values are whole: every sum is exact. */
static struct rig_sample held[2000];
static int64_t held_until_ms[2000];
static int held_n;

static void send_span(int64_t from_ms, int64_t to_ms, bool late_after_sealing)
{
    for (int64_t t = from_ms; t <= to_ms; t += 10 * SECOND) {
        struct rig_sample batch[3 * SERIES + 200];
        size_t n = 0;
        for (int i = 0; i < held_n && n < 200; i++)
            if (held_until_ms[i] <= t) {
                batch[n++] = held[i];
                held[i] = held[--held_n];
                held_until_ms[i--] = held_until_ms[held_n];
            }
        for (int s = 0; s < SERIES; s++) {
            struct rig_sample sample = {names[s], t - draw(10 * SECOND), draw(1000)};
            if (draw(8) == 0 || (s == 3 && t / (5 * MINUTE) % 2))
                continue;
            bool very_late = late_after_sealing && draw(60) == 0;
            if (very_late || draw(12) == 0) {
                held[held_n] = sample;
                held_until_ms[held_n++] = t + (very_late ? 200 : 15) * SECOND;
            } else {
                batch[n++] = sample;
            }
        }
        if (n)
            model_send(&rig, batch, n, t);
        rig_tick(&rig, t);
    }
}

static int64_t sealed_to(enum model_view view)
{
    struct ingest_view_status status;
    model_status(&rig, view, &status);
    return status.sealed_to_ms;
}

static const int64_t begin_ms = INT64_C(1700000040000); /* a multiple of a minute */

static uint32_t check_all(int64_t from_ms, int64_t to_ms)
{
    uint32_t groups = 0;
    for (uint32_t view = 0; view < MODEL_VIEWS; view++)
        for (int64_t end_ms = from_ms + WIDTH; mask >> view & 1 && view != VIEW_ONE_BY_ONE && end_ms <= to_ms;
             end_ms += WIDTH)
            groups += model_check(&rig, view, end_ms);
    return groups;
}

START_TEST(states_are_what_was_sent)
{
    state = suite_seed("ingest/groups") + (unsigned)_i;
    rig.options.refresh_per_view = false;
    open_engine(ALL_VIEWS);
    held_n = 0;
    int64_t at_ms = begin_ms;
    for (int round = 0; round < 5; round++) {
        int64_t to_ms = at_ms + (3 + draw(4)) * MINUTE + draw(6) * 10 * SECOND;
        send_span(at_ms, to_ms, true);
        at_ms = to_ms + 10 * SECOND;
        ck_assert_int_ge(sealed_to(VIEW_SUM), at_ms - 3 * MINUTE);
        ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
        switch (_i % 3) {
        case 1:
            rig_reopen(&rig);
            break;
        case 2:
            rig_crash(&rig);
        }
        ck_assert_uint_gt(check_all(begin_ms, sealed_to(VIEW_SUM)), 0);
    }
    done();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/groups");
    TCase *tcase = tcase_create("groups");
    tcase_set_timeout(tcase, 200);
    tcase_add_loop_test(tcase, states_are_what_was_sent, 0, 6);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
