/* Decimals: samples y / 10^e. 10^e is a double for e <= 22 and a division is correctly rounded, so it gives back the
 * very double that a decimal text parses to. */
#ifndef KERNELS_DECIMAL_H
#define KERNELS_DECIMAL_H

enum { DECIMAL_E_MAX = 14 };

static const double decimal_pow10[DECIMAL_E_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

#endif
