/*
 * Peers in another language, or behind a server: a program that is started once, lists its jobs, and then does one run
 * of one of them whenever it is asked, so that it meets the same disturbances as all others.
 *
 * It writes a line for each job, `job TAB name TAB unit TAB items TAB name of our job`, or `skipped TAB why`, and at
 * last `ready`. From then on it reads lines, each the number of a job (0 = the first), and answers each with the
 * nanoseconds that one run took. At the end of its input it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/kernels/bench.h"

struct process {
    FILE *to, *from;
    const char *command;
    pid_t pid;
    struct process *next;
};

static struct process *started;

struct process_job {
    struct process *process;
    unsigned number;
};

static double run(void *state)
{
    struct process_job *job = state;
    char line[256];
    double ns;
    if (fprintf(job->process->to, "%u\n", job->number) < 0 || fflush(job->process->to) != 0 ||
        !fgets(line, sizeof line, job->process->from) || sscanf(line, "%lf", &ns) != 1 || !(ns > 0)) {
        fprintf(stderr, "kernels_bench: %s: no time for job %u\n", job->process->command, job->number);
        exit(1);
    }
    return ns;
}

static struct process *start(const char *command)
{
    int in[2], out[2];
    struct process *p = bench_room(sizeof *p);
    if (pipe(in) != 0 || pipe(out) != 0) {
        perror("kernels_bench: pipe");
        exit(1);
    }
    pid_t pid = fork();
    if (pid < 0) {
        perror("kernels_bench: fork");
        exit(1);
    }
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *p = (struct process){
        .to = fdopen(in[1], "w"), .from = fdopen(out[0], "r"), .command = command, .pid = pid, .next = started};
    started = p;
    if (!p->to || !p->from) {
        perror("kernels_bench: fdopen");
        exit(1);
    }
    /* The next program must not hold this one's input open, or it would never end. */
    if (fcntl(in[1], F_SETFD, FD_CLOEXEC) != 0 || fcntl(out[0], F_SETFD, FD_CLOEXEC) != 0)
        perror("kernels_bench: fcntl");
    return p;
}

static const char *copy(const char *text)
{
    char *kept = bench_room(strlen(text) + 1);
    return strcpy(kept, text);
}

void peer_process(struct bench *b, const char *command)
{
    char line[512], why[600];
    unsigned n = 0;
    signal(SIGPIPE, SIG_IGN);
    struct process *p = start(command);
    while (fgets(line, sizeof line, p->from)) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = line, *kind = strsep(&rest, "\t"), *name = strsep(&rest, "\t");
        if (strcmp(kind, "ready") == 0)
            return;
        if (name && strcmp(kind, "skipped") == 0) {
            bench_skip(b, name);
            continue;
        }
        char *unit = strsep(&rest, "\t"), *items = strsep(&rest, "\t");
        if (strcmp(kind, "job") != 0 || !rest || !(atof(items) > 0)) {
            fprintf(stderr, "kernels_bench: %s: not a line of a peer: %s\n", command, line);
            exit(1);
        }
        struct process_job *job = bench_room(sizeof *job);
        *job = (struct process_job){p, n++};
        bench_add(b, (struct bench_job){.name = copy(name),
                                        .unit = copy(unit),
                                        .items = atof(items),
                                        .clocked = run,
                                        .state = job,
                                        .ours = copy(rest)});
    }
    snprintf(why, sizeof why, "%s did not start", command);
    bench_skip(b, why);
}

void peer_processes_end(void)
{
    for (struct process *p = started; p; p = p->next) {
        fclose(p->to);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        fclose(p->from);
    }
    started = NULL;
}
