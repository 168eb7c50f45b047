#include "server/client.h"

#include <curl/curl.h>
#include <pthread.h>

#include "base/alloc.h"

struct client {
    CURL *curl;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct client *client_new(void)
{
    pthread_once(&curl_once, start_curl);
    struct client *c = mem_zalloc(sizeof *c);
    c->curl = curl_easy_init();
    MUST(c->curl);
    return c;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->curl);
    mem_free(c);
}

void client_answer_done(struct client_answer *a)
{
    strbuf_done(&a->body);
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
    struct client_answer *a = arg;
    if (a->body.n + size * n > CLIENT_BODY_MAX)
        return 0;
    strbuf_add(&a->body, p, size * n);
    return size * n;
}

int client_request(struct client *c, const char *url, const char *const *headers, const struct str *body,
                   int64_t timeout_ms, struct client_answer *ret, struct err *e)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct curl_slist *list = NULL;
    strbuf_clear(&ret->body);
    curl_easy_reset(c->curl);
    for (; headers && *headers; headers++)
        list = curl_slist_append(list, *headers);
    if (body) { /* do not wait for "100 Continue" */
        list = curl_slist_append(list, "Expect:");
        curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body->p ? body->p : "");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
    }
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)(timeout_ms ? timeout_ms : 60000));
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, ret);
    CURLcode done = curl_easy_perform(c->curl);
    curl_slist_free_all(list);
    if (done != CURLE_OK)
        return err_set(e, ERR_IO, "%s: %s", url, reason[0] ? reason : curl_easy_strerror(done));
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &ret->status);
    return 0;
}

void client_form_add(struct strbuf *out, const char *name, struct str value)
{
    static const char hex[] = "0123456789ABCDEF";
    if (out->n)
        strbuf_add_char(out, '&');
    strbuf_add_z(out, name);
    strbuf_add_char(out, '=');
    for (size_t i = 0; i < value.n; i++) {
        unsigned char b = (unsigned char)value.p[i];
        bool plain = char_is_digit((char)b) || ((b | 0x20) >= 'a' && (b | 0x20) <= 'z') || strchr("-._~", b) != NULL;
        if (plain && b) {
            strbuf_add_char(out, (char)b);
        } else {
            strbuf_add_char(out, '%');
            strbuf_add_char(out, hex[b >> 4]);
            strbuf_add_char(out, hex[b & 15]);
        }
    }
}
