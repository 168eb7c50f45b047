#include "executor/label_hash.h"

#include <xxhash.h>

static void add_text(struct strbuf *b, struct str s)
{
    if (s.n < 255) {
        strbuf_add_char(b, (char)s.n);
    } else {
        const uint8_t length[4] = {255, (uint8_t)s.n, (uint8_t)(s.n >> 8), (uint8_t)(s.n >> 16)};
        strbuf_add(b, length, sizeof length);
    }
    strbuf_add_str(b, s);
}

uint64_t labels_hash_prometheus(const struct labels *l, struct strbuf *scratch)
{
    strbuf_clear(scratch);
    for (uint32_t i = 0; i < l->n; i++) {
        add_text(scratch, l->v[i].name);
        add_text(scratch, l->v[i].value);
    }
    return XXH64(scratch->p, scratch->n, 0);
}
