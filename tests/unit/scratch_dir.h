/* scratch_dir.h: a directory for one test; the setup and teardown that make and remove it. */
#ifndef SCRATCH_DIR_H
#define SCRATCH_DIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];

static inline int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/pipe-unit-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static inline int remove_dir(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

#endif
