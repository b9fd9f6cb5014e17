/*
 * programs.c: the compiled pipelines of pipelines/. Each of them has a main() (renamed by the
 * Makefile) that calls pipe_main(), which the linker directs here.
 */
#include <stdlib.h>

#include "sim.h"

int sim_main_local(int argc, char **argv);
int sim_main_exchange(int argc, char **argv);
int sim_main_union(int argc, char **argv);
int sim_main_update(int argc, char **argv);
int sim_main_files(int argc, char **argv);
int sim_main_tables(int argc, char **argv);
int __wrap_pipe_main(const struct pipe_plan *plan, int argc, char **argv);

struct sim_program sim_programs[8];
const size_t sim_program_count = 6;
static size_t registered;

int __wrap_pipe_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct pipe_plan *copy = pipe_malloc(sizeof *copy);
    (void)argc;
    *copy = *plan;
    if (copy->start != NULL)
        copy->start(); /* once: the engine is opened often */
    copy->start = NULL;
    sim_programs[registered++] = (struct sim_program){argv[0],
                                                      copy,
                                                      sim_model_of(argv[0]),
                                                      strcmp(argv[0], "files") == 0,
                                                      strcmp(argv[0], "update") == 0,
                                                      strcmp(argv[0], "tables") == 0};
    return 0;
}

void sim_register_programs(void)
{
    static int (*const mains[])(int, char **) = {sim_main_local, sim_main_exchange,
                                                 sim_main_union, sim_main_update,
                                                 sim_main_files, sim_main_tables};
    static char *names[] = {"local", "exchange", "union", "update", "files", "tables"};
    for (size_t i = 0; i < sim_program_count; i++)
        mains[i](1, &names[i]);
}
