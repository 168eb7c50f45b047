/*
 * Byte strings with a length (not NUL-terminated, may hold any byte), and a growable output buffer.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p; /* borrowed */
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *z) /* NUL-terminated; NULL gives the empty string */
{
    return (struct str){z, z ? strlen(z) : 0};
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || a.p == b.p || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool char_is_digit(char c) /* ASCII, whatever the locale */
{
    return c >= '0' && c <= '9';
}
int str_cmp(struct str a, struct str b);     /* bytewise, then by length */
int str_order(const void *a, const void *b); /* that of two struct str, for qsort */
bool str_has_prefix(struct str s, struct str prefix);

/* Well-formed UTF-8 by RFC 3629 (no surrogates, no overlongs, at most U+10FFFF). */
bool utf8_valid(const char *p, size_t n);
/* Decode one code point: returns its length 1..4, or 0 for a malformed sequence (then *ret is U+FFFD). n >= 1. */
size_t utf8_decode(const char *p, size_t n, uint32_t *ret);
size_t utf8_encode(uint32_t code_point, char ret[4]);

/* Output that grows on the heap. Zero-initialise; strbuf_done frees. Never fails (see alloc.h); keep inputs bounded. */
struct strbuf {
    char *p;
    size_t n, cap;
};
void strbuf_reserve(struct strbuf *b, size_t more_bytes);
void strbuf_add(struct strbuf *b, const void *p, size_t n);
void strbuf_add_str(struct strbuf *b, struct str s);
void strbuf_add_z(struct strbuf *b, const char *z);
void strbuf_add_char(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_add_i64(struct strbuf *b, int64_t v);     /* as decimal text */
void strbuf_add_varint(struct strbuf *b, uint64_t v); /* as bytes.h writes it */
const char *strbuf_z(struct strbuf *b);               /* NUL-terminated view (the NUL is not counted in n) */
void strbuf_clear(struct strbuf *b);                  /* keeps the memory */
void strbuf_done(struct strbuf *b);

/* "..." with Go's strconv.Quote escapes (Prometheus prints label values this way); JSON escapes for the second. */
void strbuf_add_go_quoted(struct strbuf *b, struct str s);
void strbuf_add_json_string(struct strbuf *b, struct str s); /* with the quotes; malformed UTF-8 becomes U+FFFD */

#endif
