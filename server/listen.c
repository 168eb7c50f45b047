#include "server/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 511, HOST_MAX = 256 };

/* "[::1]:9095" -> "::1", "9095". */
static bool split(const char *address, char host[HOST_MAX], const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon[1] == 0 || strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5)
        return false;
    size_t n = (size_t)(colon - address);
    bool bracketed = n >= 2 && address[0] == '[' && colon[-1] == ']';
    if (bracketed) {
        address++;
        n -= 2;
    }
    if (n >= HOST_MAX || (!bracketed && memchr(address, ':', n)))
        return false;
    memcpy(host, address, n);
    host[n] = 0;
    *ret_port = colon + 1;
    return strtoul(colon + 1, NULL, 10) <= 65535;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
    if (a->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
    return false;
}

/* What the kernel bound, as text. */
static void bound_text(int fd, char ret[LISTEN_ADDRESS_MAX])
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
    if (getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        getnameinfo((struct sockaddr *)&a, n, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(ret, LISTEN_ADDRESS_MAX, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static int cannot_listen(const char *address, int error_number, struct err *e)
{
    char reason[128];
    snprintf(reason, sizeof reason, "%s", strerror(error_number));
    reason[0] = (char)tolower((unsigned char)reason[0]);
    return err_set(e, ERR_IO, "cannot listen on %s: %s; choose another with --listen", address, reason);
}

static int bind_one(const char *address, const struct addrinfo *info, int *ret_fd, struct err *e)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return cannot_listen(address, errno, e);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0) {
        int failed = errno;
        close(fd);
        return cannot_listen(address, failed, e);
    }
    *ret_fd = fd;
    return 0;
}

/* freeaddrinfo the result. */
static int resolve(const char *address, bool insecure, struct addrinfo **ret, struct err *e)
{
    char host[HOST_MAX];
    const char *port;
    if (!split(address, host, &port))
        return err_set(e, ERR_BAD_DATA, "--listen %s is no address: write HOST:PORT, for example 127.0.0.1:9095",
                       address);
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    int failed = getaddrinfo(host[0] ? host : NULL, port, &wanted, &found);
    if (failed != 0)
        return err_set(e, ERR_BAD_DATA, "--listen %s: %s", address, gai_strerror(failed));
    if (!insecure && !is_loopback(found->ai_addr)) {
        freeaddrinfo(found);
        return err_set(e, ERR_BAD_DATA,
                       "--listen %s can be reached from other machines, and mullion has no authentication yet: put a "
                       "proxy that has in front, or say --insecure",
                       address);
    }
    *ret = found;
    return 0;
}

int listen_open(const char *address, bool insecure, int *ret_fd, char ret_address[LISTEN_ADDRESS_MAX], struct err *e)
{
    struct addrinfo *found;
    int fd, code = resolve(address, insecure, &found, e);
    if (code != 0)
        return code;
    code = bind_one(address, found, &fd, e);
    freeaddrinfo(found);
    if (code != 0)
        return code;
    if (listen(fd, BACKLOG) != 0) {
        code = cannot_listen(address, errno, e);
        close(fd);
        return code;
    }
    bound_text(fd, ret_address);
    *ret_fd = fd;
    return 0;
}

int listen_check(const char *address, bool insecure, bool probe, struct err *e)
{
    struct addrinfo *found;
    int fd, code = resolve(address, insecure, &found, e);
    if (code != 0)
        return code;
    if (probe)
        code = bind_one(address, found, &fd, e);
    if (probe && code == 0)
        close(fd);
    freeaddrinfo(found);
    return code;
}
