/*
 * The data directory itself: what may become one, its LOCK file (one writer; readers that want to be alone share it),
 * and its FORMAT file, which says what the rest is and gives the store its id and sketch seed (docs/FORMATS.md).
 */
#ifndef STORE_DIR_H
#define STORE_DIR_H

#include "store/store_env.h"

enum { DIR_PATH_MAX = 4096 };

int dir_path(const char *dir, const char *name, char ret[DIR_PATH_MAX], struct err *e);
int dir_make(const char *dir, struct err *e);
/* ERR_BAD_DATA for a directory of something else; an absent one is fine. */
int dir_check(const char *dir, struct err *e);
int dir_sync(const char *dir, struct err *e);

/* Fill in s->lock_fd. ERR_LOCKED names who holds it. */
int dir_lock(struct store *s, struct err *e);
/* For reading alone. A directory without LOCK, such as a copy, has no writer. */
int dir_lock_share(struct store *s, struct err *e);

/* Read FORMAT into s, or make it in a directory that holds no store yet (ERR_NOT_FOUND when read-only). */
int dir_format_open(struct store *s, bool *ret_created, struct err *e);
/* A directory of an earlier version has got what it lacked: from here on an earlier program refuses it by name. */
int dir_format_raise(struct store *s, struct err *e);

#endif
