#include "plan/usage.h"

#include <pthread.h>

#include "base/alloc.h"

/* Texts are compared with at most so many unasked queries, and only their beginnings are kept. */
enum { COMPARED_MAX = 256, TEXT_KEPT_MAX = 500, INTERVALS = 3 };

struct asked {
    uint64_t n;
    char *nearest; /* NUL-terminated; NULL: none yet */
    double likeness;
    bool listed;
};
struct plan_usage {
    const struct plan *plan;
    int64_t since_ms;
    pthread_mutex_t mutex;
    struct asked *queries;
    uint32_t unasked_n; /* queries with n 0: when there are none, texts are not looked at */
};

struct plan_usage *plan_usage_new(const struct plan *plan, int64_t now_ms)
{
    struct plan_usage *u = mem_zalloc(sizeof *u);
    u->plan = plan;
    u->since_ms = now_ms;
    u->queries = mem_zalloc((plan->queries_n + 1u) * sizeof *u->queries);
    u->unasked_n = plan->queries_n;
    pthread_mutex_init(&u->mutex, NULL);
    return u;
}

void plan_usage_free(struct plan_usage *u)
{
    if (!u)
        return;
    for (uint32_t i = 0; i < u->plan->queries_n; i++)
        mem_free(u->queries[i].nearest);
    pthread_mutex_destroy(&u->mutex);
    mem_free(u->queries);
    mem_free(u);
}

/* How much of beginning and end two texts have in common: what differs between a query and its misspelt twin stands in
 * one place. */
static void in_common(struct str a, struct str b, size_t *ret_front, size_t *ret_back)
{
    size_t shorter = a.n < b.n ? a.n : b.n, front = 0, back = 0;
    while (front < shorter && a.p[front] == b.p[front])
        front++;
    while (back < shorter - front && a.p[a.n - 1 - back] == b.p[b.n - 1 - back])
        back++;
    *ret_front = front;
    *ret_back = back;
}

/* As a share of the longer text. */
static double likeness(struct str a, struct str b)
{
    size_t longer = a.n < b.n ? b.n : a.n, front, back;
    in_common(a, b, &front, &back);
    return longer ? (double)(front + back) / (double)longer : 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* Does a word go on over this place? */
static bool cuts_word(struct str s, size_t at)
{
    return at > 0 && at < s.n && is_word(s.p[at - 1]) && is_word(s.p[at]);
}

void plan_text_difference(struct str *a, struct str *b)
{
    size_t front, back;
    in_common(*a, *b, &front, &back);
    while (cuts_word(*a, front) || cuts_word(*b, front))
        front--;
    while (cuts_word(*a, a->n - back) || cuts_word(*b, b->n - back))
        back--;
    *a = (struct str){a->p + front, a->n - front - back};
    *b = (struct str){b->p + front, b->n - front - back};
}

static void compare(struct plan_usage *u, struct str text)
{
    const double LEAST = 0.5;
    uint32_t compared_n = 0;
    for (uint32_t i = 0; i < u->plan->queries_n && compared_n < COMPARED_MAX; i++) {
        struct asked *q = &u->queries[i];
        if (q->n > 0)
            continue;
        compared_n++;
        double like = likeness(u->plan->queries[i].text, text);
        if (like < LEAST || like <= q->likeness)
            continue;
        size_t kept = text.n < TEXT_KEPT_MAX ? text.n : TEXT_KEPT_MAX;
        mem_free(q->nearest);
        q->nearest = mem_alloc(kept + 1);
        memcpy(q->nearest, text.p, kept);
        q->nearest[kept] = 0;
        q->likeness = like;
    }
}

void plan_usage_note(struct plan_usage *u, uint32_t query, struct str text)
{
    pthread_mutex_lock(&u->mutex);
    if (query != PLAN_NONE)
        u->unasked_n -= u->queries[query].n++ == 0;
    else if (u->unasked_n > 0)
        compare(u, text);
    pthread_mutex_unlock(&u->mutex);
}

static bool is_due(const struct plan_usage *u, uint32_t query, int64_t now_ms)
{
    const struct cadence *c = &u->plan->queries[query].cadence;
    return u->queries[query].n == 0 && c->kind == CADENCE_EVERY && (now_ms - u->since_ms) / INTERVALS >= c->every_ms;
}

int plan_usage_unasked(struct plan_usage *u, int64_t now_ms, bool fresh, struct arena *a, struct plan_unasked **ret,
                       uint32_t *ret_n, struct err *e)
{
    size_t cap = 0;
    *ret = NULL;
    *ret_n = 0;
    pthread_mutex_lock(&u->mutex);
    for (uint32_t i = 0; u->unasked_n > 0 && i < u->plan->queries_n; i++) {
        struct asked *q = &u->queries[i];
        if (!is_due(u, i, now_ms) || (fresh && q->listed))
            continue;
        *ret = arena_grow(a, *ret, &cap, *ret_n + 1u, sizeof **ret);
        struct str nearest = {0};
        if (q->nearest) {
            size_t n = strlen(q->nearest);
            nearest = (struct str){arena_strndup(a, q->nearest, n), n};
        }
        if (*ret && (nearest.p || !q->nearest)) {
            (*ret)[(*ret_n)++] = (struct plan_unasked){i, nearest};
            q->listed |= fresh;
        }
    }
    pthread_mutex_unlock(&u->mutex);
    return arena_check(a, "plan usage", e);
}

uint64_t plan_usage_asked(struct plan_usage *u, uint32_t query)
{
    pthread_mutex_lock(&u->mutex);
    uint64_t n = u->queries[query].n;
    pthread_mutex_unlock(&u->mutex);
    return n;
}
