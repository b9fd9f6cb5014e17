/* replay.c: stands in for clang's fuzzer where there is none: runs every file, and every file in
 * every directory, once. */
#include "fuzz.h"
#include <ftw.h>

static unsigned long count;

static int run_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)walk;
    if (kind != FTW_F)
        return 0;
    size_t size = (size_t)status->st_size;
    uint8_t *data = malloc(size + 1);
    FILE *file = fopen(path, "rb");
    if (data == NULL || file == NULL || fread(data, 1, size, file) != size)
        abort();
    fclose(file);
    fprintf(stderr, "Running: %s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    count++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-' && nftw(argv[i], run_file, 16, FTW_PHYS) != 0)
            abort();
    fprintf(stderr, "replayed %lu inputs\n", count);
    return 0;
}
