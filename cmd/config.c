#include "cmd/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* The value of the last --config FILE or --config=FILE. */
static const char *named_file(int argc, char **argv)
{
    const char *file = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
            file = argv[++i];
        else if (strncmp(argv[i], "--config=", 9) == 0)
            file = argv[i] + 9;
    }
    return file;
}

static int problem(const char *file, const yaml_mark_t *at, struct err *e, const char *what, const char *word)
{
    return err_set(e, ERR_BAD_DATA, "%s:%zu:%zu: %s%s", file, at->line + 1, at->column + 1, what, word);
}

static const struct argp_option *find_option(const struct argp_option *options, const char *name)
{
    for (; options->name; options++)
        if (strcmp(options->name, name) == 0 && strcmp(name, "config") != 0)
            return options;
    return NULL;
}

/* One pair as an argument, or NULL for a switch that is off. */
static int pair_argument(const char *file, const struct argp_option *options, const yaml_node_t *key,
                         const yaml_node_t *value, struct arena *a, char **ret, struct err *e)
{
    if (key->type != YAML_SCALAR_NODE)
        return problem(file, &key->start_mark, e, "an option's name is expected", "");
    const char *name = (const char *)key->data.scalar.value;
    const struct argp_option *option = find_option(options, name);
    if (!option)
        return problem(file, &key->start_mark, e, "there is no such option: ", name);
    if (value->type != YAML_SCALAR_NODE)
        return problem(file, &value->start_mark, e, "one value is expected for ", name);
    const char *text = (const char *)value->data.scalar.value;
    if (option->arg) {
        *ret = arena_printf(a, "--%s=%s", name, text);
        return 0;
    }
    bool on = strcmp(text, "true") == 0;
    if (!on && strcmp(text, "false") != 0)
        return problem(file, &value->start_mark, e, "true or false is expected for ", name);
    *ret = on ? arena_printf(a, "--%s", name) : NULL;
    return 0;
}

struct arguments {
    char **v;
    int n;
    size_t cap;
};

static void argument_add(struct arguments *args, char *text, struct arena *a)
{
    args->v = arena_grow(a, args->v, &args->cap, (size_t)args->n + 2, sizeof *args->v);
    args->v[args->n++] = text;
    args->v[args->n] = NULL;
}

static int read_document(const char *file, yaml_document_t *doc, const struct argp_option *options, struct arena *a,
                         struct arguments *args, struct err *e)
{
    const yaml_node_t *root = yaml_document_get_root_node(doc);
    if (!root)
        return 0; /* an empty file */
    if (root->type != YAML_MAPPING_NODE)
        return problem(file, &root->start_mark, e, "options are written name: value, one a line", "");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
        char *text = NULL;
        int code = pair_argument(file, options, yaml_document_get_node(doc, p->key),
                                 yaml_document_get_node(doc, p->value), a, &text, e);
        if (code != 0)
            return code;
        if (text)
            argument_add(args, text, a);
    }
    return 0;
}

static int read_file(const char *file, const struct argp_option *options, struct arena *a, struct arguments *args,
                     struct err *e)
{
    static char text[CONFIG_MAX_BYTES];
    FILE *f = fopen(file, "re");
    if (!f)
        return err_set_errno(e, errno, "%s", file);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    if (n == sizeof text)
        return err_set(e, ERR_TOO_LARGE, "%s: a config file has less than %d bytes", file, CONFIG_MAX_BYTES);
    yaml_parser_t parser;
    yaml_document_t doc;
    int code;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &doc)) {
        code = problem(file, &parser.problem_mark, e, parser.problem ? parser.problem : "this is no YAML", "");
    } else {
        code = read_document(file, &doc, options, a, args, e);
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    return code;
}

int config_expand(const struct argp_option *options, int *argc, char ***argv, struct arena *a, struct err *e)
{
    const char *file = named_file(*argc, *argv);
    struct arguments args = {0};
    if (!file)
        return 0;
    argument_add(&args, (*argv)[0], a);
    int code = read_file(file, options, a, &args, e);
    if (code != 0)
        return code;
    for (int i = 1; i < *argc; i++)
        argument_add(&args, (*argv)[i], a);
    *argc = args.n;
    *argv = args.v;
    return 0;
}
