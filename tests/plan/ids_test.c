/* plan/ids: identities against the byte string of docs/FORMATS.md, written out by hand and hashed by the library. */
#include "suite.h"

#include <string.h>
#include <xxhash.h>

#include "plan/ids.h"

static void expect_identity(const struct view_definition *d, const void *bytes, size_t n)
{
    uint8_t identity[IDENTITY_BYTES];
    XXH128_canonical_t expected;
    XXH128_canonicalFromHash(&expected, XXH3_128bits(bytes, n));
    view_identity(d, identity);
    ck_assert_mem_eq(identity, expected.digest, IDENTITY_BYTES);
}

/* A string literal without its NUL. */
#define BYTES(literal) literal, sizeof(literal) - 1

/* KLL k=52 of latency_ms{job="api"}, 10 s panes at phase 3 s, one state a series. */
static const struct matcher latency[] = {{.op = MATCH_EQ, .name = STR("__name__"), .value = STR("latency_ms")},
                                         {.op = MATCH_NRE, .name = STR("job"), .value = STR("a.*")}};
static const struct view_definition kll = {.matchers = latency,
                                           .matchers_n = 2,
                                           .input = {.kind = INPUT_VALUE},
                                           .family = FAMILY_KLL,
                                           .params = {.k = 52},
                                           .per_series = true,
                                           .width_ms = 10000,
                                           .phase_ms = 3000,
                                           .lookback_ms = 300000,
                                           .sketch_seed = 0x1122334455667788};

START_TEST(identity_of_a_kll_view)
{
    expect_identity(&kll, BYTES("\1\0\0\0"
                                "\2\0\0\0"
                                "\10\0\0\0__name__\1\0\0\0\12\0\0\0latency_ms"
                                "\3\0\0\0job\4\0\0\0\3\0\0\0a.*"
                                "\5\0\0\0value"
                                "\7\0\0\0"
                                "\1\0\0\0\1\0\0\0k\64\0\0\0\0\0\0\0"
                                "\1\0\0\0\0\0\0\0"
                                "\x10\x27\0\0\0\0\0\0"
                                "\xb8\x0b\0\0\0\0\0\0"
                                "\xe0\x93\4\0\0\0\0\0"
                                "\x88\x77\x66\x55\x44\x33\x22\x11"));
}
END_TEST

START_TEST(identity_of_a_stored_root)
{
    const struct root_definition d = {STR("sum(up)"), 15000, 5000, 300000, 60000};
    uint8_t identity[IDENTITY_BYTES];
    XXH128_canonical_t expected;
    static const char bytes[] = "\1\0\0\0"
                                "\13\0\0\0stored root"
                                "\7\0\0\0sum(up)"
                                "\x98\x3a\0\0\0\0\0\0"
                                "\x88\x13\0\0\0\0\0\0"
                                "\xe0\x93\4\0\0\0\0\0"
                                "\x60\xea\0\0\0\0\0\0";
    XXH128_canonicalFromHash(&expected, XXH3_128bits(bytes, sizeof bytes - 1));
    root_identity(&d, identity);
    ck_assert_mem_eq(identity, expected.digest, IDENTITY_BYTES);
}
END_TEST

/* alpha 0.01 is 0x3f847ae147ae147b; 2048 bins is the default, which 0 means; labels are hashed sorted. */
START_TEST(identity_of_a_grouped_ddsketch_view)
{
    const struct str by[] = {STR("zone"), STR("job")};
    struct view_definition d = {.matchers = latency,
                                .matchers_n = 1,
                                .input = {.kind = INPUT_VALUE},
                                .family = FAMILY_DDSKETCH,
                                .params = {.alpha = 0.01},
                                .reduce = by,
                                .reduce_n = 2,
                                .width_ms = 1,
                                .phase_ms = 0};
    static const char bytes[] = "\1\0\0\0"
                                "\1\0\0\0"
                                "\10\0\0\0__name__\1\0\0\0\12\0\0\0latency_ms"
                                "\5\0\0\0value"
                                "\10\0\0\0"
                                "\2\0\0\0"
                                "\5\0\0\0alpha\x7b\x14\xae\x47\xe1\x7a\x84\x3f"
                                "\10\0\0\0max_bins\0\10\0\0\0\0\0\0"
                                "\0\0\0\0\2\0\0\0\3\0\0\0job\4\0\0\0zone"
                                "\1\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0";
    expect_identity(&d, bytes, sizeof bytes);
    d.params.max_bins = 2048;
    expect_identity(&d, bytes, sizeof bytes);
}
END_TEST

START_TEST(order_of_matchers_does_not_matter)
{
    const struct matcher turned[] = {latency[1], latency[0]};
    struct view_definition d = kll;
    uint8_t a[IDENTITY_BYTES], b[IDENTITY_BYTES];
    d.matchers = turned;
    view_identity(&kll, a);
    view_identity(&d, b);
    ck_assert_mem_eq(a, b, IDENTITY_BYTES);
}
END_TEST

START_TEST(every_part_matters)
{
    struct view_definition changed[12];
    for (int i = 0; i < 12; i++)
        changed[i] = kll;
    struct matcher other_value[2] = {latency[0], latency[1]}, other_op[2] = {latency[0], latency[1]};
    other_value[1].value = STR("a.+");
    other_op[1].op = MATCH_RE;
    changed[1].matchers = other_value;
    changed[2].matchers = other_op;
    changed[3].matchers_n = 1;
    changed[4].family = FAMILY_VALUES;
    changed[5].params.k = 53;
    changed[6].per_series = false;
    changed[7].width_ms++;
    changed[8].phase_ms++;
    changed[9].lookback_ms++;
    changed[10].sketch_seed++;
    changed[11].input.kind = INPUT_SERIES;
    uint8_t identities[12][IDENTITY_BYTES];
    for (int i = 0; i < 12; i++)
        view_identity(&changed[i], identities[i]);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < i; j++)
            ck_assert_mem_ne(identities[i], identities[j], IDENTITY_BYTES);
}
END_TEST

START_TEST(identity_text_both_ways)
{
    const uint8_t identity[IDENTITY_BYTES] = {0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
                                              0xef, 0xff, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60};
    uint8_t back[IDENTITY_BYTES] = {0};
    char text[2 * IDENTITY_BYTES + 1];
    identity_text(identity, text);
    ck_assert_str_eq(text, "000123456789abcdefff102030405060");
    ck_assert(identity_parse(str_of(text), back));
    ck_assert_mem_eq(back, identity, IDENTITY_BYTES);
    ck_assert(!identity_parse(STR("000123456789abcdefff10203040506"), back));
    ck_assert(!identity_parse(STR("000123456789abcdefff1020304050600"), back));
    ck_assert(!identity_parse(STR("000123456789ABCDEFFF102030405060"), back));
    ck_assert(!identity_parse(STR("000123456789abcdefff10203040506g"), back));
}
END_TEST

START_TEST(seed_of_a_state)
{
    const uint8_t identity[IDENTITY_BYTES] = "0123456789abcdef";
    const struct label pair[] = {{STR("job"), STR("api")}};
    const struct labels labels = {pair, 1};
    uint64_t labels_xxh = XXH3_64bits(BYTES("\3\0\0\0job\3\0\0\0api"));
    uint8_t bytes[40] = "\x88\x77\x66\x55\x44\x33\x22\x11"
                        "0123456789abcdef";
    for (int i = 0; i < 8; i++)
        bytes[24 + i] = (uint8_t)(labels_xxh >> (8 * i));
    memset(bytes + 32, 0xff, 8); /* -1 */
    ck_assert_uint_eq(state_seed(0x1122334455667788, identity, &labels, -1), XXH3_64bits(bytes, sizeof bytes));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/ids");
    TCase *tcase = tcase_create("ids");
    tcase_add_test(tcase, identity_of_a_kll_view);
    tcase_add_test(tcase, identity_of_a_stored_root);
    tcase_add_test(tcase, identity_of_a_grouped_ddsketch_view);
    tcase_add_test(tcase, order_of_matchers_does_not_matter);
    tcase_add_test(tcase, every_part_matters);
    tcase_add_test(tcase, identity_text_both_ways);
    tcase_add_test(tcase, seed_of_a_state);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
