/* The listening socket: an address as people write it, who may reach it, and errors that say what to do. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

enum { LISTEN_ADDRESS_MAX = 128 };

/* "HOST:PORT", "[IPV6]:PORT", ":PORT" (every address). Port 0 lets the system choose; ret_address is what was bound.
 * ERR_BAD_DATA: no address, or one other machines can reach without `insecure`. ERR_IO: it cannot be bound. */
int listen_open(const char *address, bool insecure, int *ret_fd, char ret_address[LISTEN_ADDRESS_MAX], struct err *e);
/* The same errors, and nothing stays open; it is bound for a moment with `probe` only. */
int listen_check(const char *address, bool insecure, bool probe, struct err *e);

#endif
