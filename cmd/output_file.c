#include "cmd/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int output_stdout(struct str text, struct err *e)
{
    int failed = write_all(STDOUT_FILENO, text.p, text.n);
    return failed ? err_set_errno(e, failed, "standard output") : 0;
}

int output_file(const char *path, struct str text, const char *what, struct err *e)
{
    struct strbuf temporary = {0};
    strbuf_printf(&temporary, "%s.XXXXXX", path);
    strbuf_z(&temporary);
    int fd = mkstemp(temporary.p);
    int failed = fd < 0 ? errno : 0;
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        failed = fchmod(fd, 0666 & ~mask) != 0 ? errno : write_all(fd, text.p, text.n);
        if (failed == 0 && fsync(fd) != 0)
            failed = errno;
        if (close(fd) != 0 && failed == 0)
            failed = errno;
        if (failed == 0 && rename(temporary.p, path) != 0)
            failed = errno;
        if (failed != 0)
            unlink(temporary.p);
    }
    strbuf_done(&temporary);
    return failed ? err_set_errno(e, failed, "%s: %s could not be written", path, what) : 0;
}
