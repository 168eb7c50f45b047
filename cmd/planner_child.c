#include "cmd/planner_child.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

void planner_find(char ret[PLANNER_PATH_MAX])
{
    char self[PLANNER_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        int wanted = snprintf(ret, PLANNER_PATH_MAX, "%s/mullion-plan", dirname(self));
        if (wanted < PLANNER_PATH_MAX && access(ret, X_OK) == 0)
            return;
    }
    strcpy(ret, "mullion-plan");
}

static int wait_for(pid_t child, const atomic_bool *canceled, int *ret_status, struct err *e)
{
    uint64_t until_ns = clock_monotonic_ns() + UINT64_C(1000000000) * PLANNER_DEADLINE_S;
    int status;
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child)
            break;
        if (done < 0 && errno != EINTR)
            return err_set_errno(e, errno, "mullion-plan: waiting for it failed");
        bool stop = canceled && atomic_load(canceled);
        if (stop || clock_monotonic_ns() > until_ns) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            if (stop)
                return err_set(e, ERR_CANCELED, "mullion-plan was stopped: the server is ending");
            return err_set(e, ERR_IO, "mullion-plan took longer than %d s and was stopped", PLANNER_DEADLINE_S);
        }
        usleep(5000);
    }
    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "mullion-plan was ended by signal %d", WTERMSIG(status));
    *ret_status = WEXITSTATUS(status);
    return 0;
}

int planner_run(char *const *argv, bool show_output, const atomic_bool *canceled, int *ret_status, struct err *e)
{
    pid_t child;
    char path[PLANNER_PATH_MAX];
    planner_find(path);
    fflush(stdout);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (!show_output)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return err_set(e, ERR_IO, "%s cannot be run (%s): it belongs beside mullion, or in PATH", path,
                       strerror(failed));
    return wait_for(child, canceled, ret_status, e);
}

int planner_plan_file(const char *workload, const char *plan, uint64_t seed, const atomic_bool *canceled, struct err *e)
{
    char seed_text[32], name[] = "mullion-plan", output[] = "-o", seed_option[] = "--seed", end[] = "--";
    char workload_text[PLANNER_PATH_MAX], plan_text[PLANNER_PATH_MAX];
    int status;
    snprintf(seed_text, sizeof seed_text, "%llu", (unsigned long long)seed);
    if (snprintf(workload_text, sizeof workload_text, "%s", workload) >= PLANNER_PATH_MAX ||
        snprintf(plan_text, sizeof plan_text, "%s", plan) >= PLANNER_PATH_MAX)
        return err_set(e, ERR_BAD_DATA, "the workload's or plan's path is too long");
    char *argv[] = {name, output, plan_text, seed_option, seed_text, end, workload_text, NULL};
    int code = planner_run(argv, true, canceled, &status, e);
    if (code != 0)
        return code;
    if (status != 0)
        return err_set(e, ERR_BAD_DATA, "%s could not be planned; see the lines above", workload);
    return 0;
}
