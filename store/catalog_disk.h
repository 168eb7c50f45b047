/* The catalog's bytes in store.mdb (byte table in catalog_disk.c), for the check at opening. */
#ifndef STORE_CATALOG_DISK_H
#define STORE_CATALOG_DISK_H

#include "base/err.h"
#include "base/str.h"

/* A batch's structure, checksum and key. 0 or ERR_CORRUPT. */
int catalog_batch_check(struct str key, struct str value, struct err *e);

#endif
