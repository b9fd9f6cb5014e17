/*
 * main.c: pipec. The command line is read in command_line.c, so that tests can call it.
 */
#include "command.h"
#include "../runtime/process.h"

int main(int argc, char **argv)
{
    pipe_hold_descriptors();
    pipe_watch_memory(out_of_memory);
    return command_line(argc, argv);
}
