/*
 * main.c: pipec. The command line is read in command_line.c, so that tests can call it.
 */
#include "command.h"

int main(int argc, char **argv)
{
    return command_line(argc, argv);
}
