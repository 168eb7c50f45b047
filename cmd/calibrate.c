/* mullion calibrate: measures this machine and writes the calibration file that a workload's models.calibration names.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/calibrate.h"
#include "cmd/command.h"
#include "cmd/output_file.h"
#include "kernels/cpu.h"

static const char summary[] =
    "Measure what work costs on this machine, for the planner.\v"
    "Runs each kernel for a moment (some seconds in all) and prints a calibration file. Name it in a workload as "
    "`models: {calibration: FILE}`. Every number may be changed by hand; byte_s_ms, what a byte kept for a second is "
    "worth, is a price: by default this machine's cores over its memory.\n\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.";

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "Write the file here, atomically, instead of printing it", 0}, {0}};

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    const char **output = state->input;
    switch (key) {
    case 'o':
        *output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s is too many: there is nothing to name", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void write_calibration(const struct measured *m, struct strbuf *out)
{
    double memory_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30);
    strbuf_add_z(out, "{\"format\": \"mullion-calibration/1\",\n");
    strbuf_printf(out, " \"machine\": \"%s, %ld cores, %.1f GiB\",\n", cpu_level_name(cpu_level()),
                  sysconf(_SC_NPROCESSORS_ONLN), memory_gib);
    strbuf_printf(out, " \"op_ms\": %.3g, \"byte_ms\": %.3g, \"byte_s_ms\": %.3g,\n \"families\": {", m->op_ms,
                  m->byte_ms, m->byte_s_ms);
    const char *comma = "\n";
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++) {
        const struct measured_family *it = &m->families[f];
        if (!it->measured)
            continue;
        strbuf_printf(out,
                      "%s  \"%s\": {\"build_row_ms\": %.3g, \"build_state_ms\": %.3g, \"read_state_ms\": %.3g, "
                      "\"read_result_ms\": %.3g}",
                      comma, family_get((enum family)f)->name, it->build_row_ms, it->build_state_ms, it->read_state_ms,
                      it->read_result_ms);
        comma = ",\n";
    }
    strbuf_add_z(out, "}}\n");
}

int command_calibrate(int argc, char **argv)
{
    const char *output = NULL;
    struct argp argp = {option_list, take_option, NULL, summary, NULL, NULL, NULL};
    argp_parse(&argp, argc, argv, 0, NULL, &output);
    struct measured measured;
    struct strbuf text = {0};
    struct err e = {0};
    calibrate_measure(&measured);
    write_calibration(&measured, &text);
    struct str made = {text.p, text.n};
    int rc = output ? output_file(output, made, "the calibration", &e) : output_stdout(made, &e);
    strbuf_done(&text);
    return rc == 0 ? 0 : command_failed(&e);
}
