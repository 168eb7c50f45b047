/*
 * What the check at opening asks about single rows. A flipped bit in a key can keep the order of its table and so hide
 * a row from every walk; the row's own bytes, which repeat the key under a checksum, give it away.
 */
#ifndef STORE_ROW_CHECK_H
#define STORE_ROW_CHECK_H

#include "base/err.h"
#include "base/str.h"

/* Rows that all else hangs on are wholly checked: 0, ERR_CORRUPT or ERR_VERSION. */
int catalog_batch_check(struct str key, struct str value, struct err *e);
int meta_row_check(struct str key, struct str value, struct err *e);
int view_row_check(struct str key, struct str value, struct err *e);
int root_row_check(struct str key, struct str value, struct err *e);
/* Blocks: ERR_CORRUPT when the block is whole but stands under another block's key. A block that is itself damaged is
 * no fault of the index: its readers find it under its key and report it. */
int raw_row_check(struct str key, struct str value, struct err *e);
int pane_row_check(struct str key, struct str value, struct err *e);
int root_result_row_check(struct str key, struct str value, struct err *e);

#endif
