/* mullion: finds the subcommand and hands over to its file. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "server/server.h"

const char *argp_program_version = "mullion " MULLION_VERSION;

static const struct {
    const char *name, *does;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "take remote write, keep panes, answer PromQL", command_serve},
    {"plan", "plan which summaries a workload needs (runs mullion-plan)", command_plan},
    {"query", "ask a server, or a data directory, one query", command_query},
    {"load", "send generated or recorded samples by remote write", command_load},
    {"check", "check a workload, a plan file or a data directory", command_check},
    {"calibrate", "measure what work costs on this machine, for the planner", command_calibrate},
    {"demo", "a server with a workload and live synthetic samples", command_demo},
};
enum { COMMANDS_N = sizeof commands / sizeof *commands, NAME_MAX_BYTES = 64 };

static void usage(FILE *out)
{
    fputs("usage: mullion COMMAND [OPTIONS]\n\n", out);
    for (int i = 0; i < COMMANDS_N; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].does);
    fputs("  version   print the version\n\nmullion COMMAND --help tells more.\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage.\n",
          out);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = 2;
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-?") == 0 ||
        strcmp(name, "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        puts(argp_program_version);
        return 0;
    }
    for (int i = 0; i < COMMANDS_N; i++) {
        static char full[NAME_MAX_BYTES];
        if (strcmp(name, commands[i].name) != 0)
            continue;
        snprintf(full, sizeof full, "mullion %s", name);
        argv[1] = full;
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "mullion: there is no command %s; mullion --help lists them\n", name);
    return 2;
}
