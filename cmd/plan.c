/* mullion plan: mullion-plan under this program's name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/planner_child.h"

int command_plan(int argc, char **argv)
{
    char path[PLANNER_PATH_MAX], name[] = "mullion-plan";
    planner_find(path);
    argv[0] = name;
    execvp(path, argv);
    fprintf(stderr, "mullion: %s cannot be run (%s): it belongs beside mullion, or in PATH\n", path, strerror(errno));
    return 1;
}
