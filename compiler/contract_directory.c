/*
 * contract_directory.c: `pipec contracts check DIR`.
 *
 * A folder with files vN.avsc is a subject, DIR itself or any below it; `breaking` folders hold bad
 * examples and are passed over; DIR itself may be one: then each schema in it is taken for the next
 * version of the folder above. The versions of a subject are checked like those of a contract; a
 * file `compatibility` in the folder may say how: `none`, `backward`, `forward` or `full`, then
 * maybe `transitive`. Without it they must be fully compatible with their neighbours.
 */
#include "contracts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDERS_MAX_DEPTH = 8, ENTRIES_MAX = 10000, COMPATIBILITY_MAX_BYTES = 1024 };

struct version_file {
    unsigned long number;
    const char *path;
};

struct check {
    struct program *program;
    FILE *out;
    unsigned subject_count, version_count;
    bool any_name; /* every .avsc is a version, whatever its name */
};

struct folder {
    VEC(struct version_file) versions;
    VEC(const char *) folders;
    bool has_compatibility;
};

static int compare_versions(const void *a, const void *b)
{
    const struct version_file *x = a, *y = b;
    return x->number < y->number ? 1 : x->number > y->number ? -1 : 0; /* newest first */
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *on_disk(struct check *check, const char *path)
{
    const char *root = check->program->root;
    if (path[0] == '/' || strcmp(root, ".") == 0)
        return path;
    return arena_printf(check->program->arena, "%s/%s", root, path);
}

/* The N of vN.avsc, from 1 and without leading zeros; 0: another name. */
static unsigned long version_number(const char *name)
{
    size_t digits = name[0] == 'v' ? strspn(name + 1, "0123456789") : 0;
    if (digits == 0 || digits > 9 || name[1] == '0' || strcmp(name + 1 + digits, ".avsc") != 0)
        return 0;
    return strtoul(name + 1, NULL, 10);
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static void sort_entry(struct check *check, const char *directory, const char *name,
                       struct folder *folder)
{
    struct program *program = check->program;
    const char *path = arena_printf(program->arena, "%s/%s", directory, name);
    struct stat status;
    if (lstat(on_disk(check, path), &status) != 0) {
        if (errno != ENOENT) /* gone since it was listed */
            diag_error(program, PC5001, (struct span){0}, "cannot read `%s`: %s", path,
                       strerror(errno));
        return;
    }
    bool is_link = S_ISLNK(status.st_mode);
    if (is_link && stat(on_disk(check, path), &status) != 0)
        status.st_mode = 0;
    if (S_ISDIR(status.st_mode)) {
        if (is_link)
            fprintf(check->out, "%s: a link to a folder, not followed\n", path);
        else if (strcmp(name, "breaking") != 0)
            vec_push(program->arena, &folder->folders, path);
        return;
    }
    if (strcmp(name, "compatibility") == 0)
        folder->has_compatibility = true;
    if (!ends_with(name, ".avsc"))
        return;
    unsigned long number = version_number(name);
    if (number > 0 || check->any_name) {
        vec_push(program->arena, &folder->versions, ((struct version_file){number, path}));
        return;
    }
    struct diag *diag =
        diag_error(program, PC5001, (struct span){0}, "`%s` is not the name of a version", path);
    diag_help(diag, "versions are v1.avsc, v2.avsc, …; schemas that must be refused stand in a "
                    "folder `breaking`");
}

/* False after an error. */
static bool read_folder(struct check *check, const char *directory, struct folder *folder)
{
    DIR *open = opendir(on_disk(check, directory));
    if (open == NULL) {
        diag_error(check->program, PC5001, (struct span){0}, "cannot read the folder `%s`: %s",
                   directory, strerror(errno));
        return false;
    }
    VEC(const char *) names = {0};
    struct dirent *entry;
    while (errno = 0, (entry = readdir(open)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (names.count == ENTRIES_MAX) {
            diag_error(check->program, PC5001, (struct span){0},
                       "the folder `%s` has more than %d entries", directory, ENTRIES_MAX);
            break;
        }
        const char *name =
            arena_strndup(check->program->arena, entry->d_name, strlen(entry->d_name));
        vec_push(check->program->arena, &names, name);
    }
    bool failed = entry == NULL && errno != 0;
    if (failed)
        diag_error(check->program, PC5001, (struct span){0}, "cannot read the folder `%s`: %s",
                   directory, strerror(errno));
    closedir(open);
    if (failed)
        return false;
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, compare_paths);
    for (size_t i = 0; i < names.count; i++)
        sort_entry(check, directory, names.items[i], folder);
    if (folder->versions.count > 0)
        qsort(folder->versions.items, folder->versions.count, sizeof *folder->versions.items,
              compare_versions);
    return true;
}

/* The next word of a text, or NULL. */
static const char *next_word(struct program *program, const char **at)
{
    *at += strspn(*at, " \t\r\n");
    size_t size = strcspn(*at, " \t\r\n");
    if (size == 0)
        return NULL;
    const char *word = arena_strndup(program->arena, *at, size);
    *at += size;
    return word;
}

static bool read_compatibility(struct check *check, const char *directory,
                               struct contract *contract)
{
    static const char *const kinds[] = {"none", "backward", "forward", "full"};
    struct program *program = check->program;
    const char *path = arena_printf(program->arena, "%s/compatibility", directory);
    const struct source *source =
        source_read(program, path, COMPATIBILITY_MAX_BYTES, (struct span){0});
    if (source == NULL)
        return false;
    const char *at = source->text;
    const char *kind = next_word(program, &at);
    const char *second = next_word(program, &at);
    bool known = false;
    for (size_t i = 0; kind != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            known = true;
            contract->compatibility = (enum compatibility)i;
        }
    }
    contract->transitive = second != NULL && strcmp(second, "transitive") == 0;
    if (known && (second == NULL || contract->transitive) && next_word(program, &at) == NULL)
        return true;
    struct span all = {source, 0, (uint32_t)source->size};
    struct diag *diag = diag_error(program, PC5001, all, "`%s` does not say how to check", path);
    diag_help(diag, "write one of none, backward, forward, full, then maybe transitive");
    return false;
}

static void print_version(struct check *check, const char *subject, const struct version_file *file,
                          const struct schema *schema)
{
    check->version_count++;
    fprintf(check->out, "%s v%lu", subject, file->number);
    if (schema == NULL)
        fprintf(check->out, "  not usable\n");
    else
        fprintf(check->out, "  %016" PRIx64 "  %zu field%s\n", schema->fingerprint,
                schema->record->field_count, schema->record->field_count == 1 ? "" : "s");
}

static void check_subject(struct check *check, const char *directory, struct folder *folder)
{
    struct program *program = check->program;
    const char *slash = strrchr(directory, '/');
    const char *subject = slash != NULL && slash[1] != '\0' ? slash + 1 : directory;
    size_t count = folder->versions.count;
    check->subject_count++;
    struct contract contract = {.name = {.text = subject}, .compatibility = COMPATIBLE_FULL};
    contract.versions = arena_alloc(program->arena, count * sizeof *contract.versions);
    bool usable = !folder->has_compatibility || read_compatibility(check, directory, &contract);
    for (size_t i = 0; i < count; i++) {
        const struct version_file *file = &folder->versions.items[i];
        contract.versions[i] = schema_load(program, file->path, (struct span){0});
        usable &= contract.versions[i] != NULL;
        contract.version_count++;
    }
    for (size_t i = count; i-- > 0;)
        print_version(check, subject, &folder->versions.items[i], contract.versions[i]);
    if (!usable)
        return;
    static const char *const kinds[] = {"none", "backward", "forward", "full"};
    bool compatible = check_versions(program, &contract, (struct span){0}, false);
    fprintf(check->out, "%s  %s%s: %s\n", subject, kinds[contract.compatibility],
            contract.transitive ? " transitive" : "", compatible ? "compatible" : "not compatible");
}

/* "clickstream/breaking/type_changed": folder, and the name without its ending. */
static const char *proposal_name(struct check *check, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return arena_strndup(check->program->arena, name, strlen(name) - strlen(".avsc"));
}

static void check_proposal(struct check *check, const char *path, const struct folder *above,
                           const struct contract *accepted)
{
    struct program *program = check->program;
    struct contract contract = *accepted;
    size_t count = accepted->version_count + 1;
    const char *name = proposal_name(check, path);
    contract.versions = arena_alloc(program->arena, count * sizeof *contract.versions);
    contract.versions[0] = schema_load(program, path, (struct span){0});
    memcpy(contract.versions + 1, accepted->versions, (count - 1) * sizeof *contract.versions);
    contract.version_count = (uint32_t)count;
    check->version_count++;
    const char *result = "not usable";
    if (contract.versions[0] != NULL)
        result = check_versions(program, &contract, (struct span){0}, false) ? "compatible"
                                                                             : "not compatible";
    fprintf(check->out, "%s as v%lu: %s\n", name, above->versions.items[0].number + 1, result);
}

/* A folder of schemas that must be refused: each as the next version of the folder above. */
static void check_breaking(struct check *check, const char *directory, const char *parent)
{
    struct program *program = check->program;
    struct folder above = {0}, folder = {0};
    if (!read_folder(check, parent, &above))
        return;
    check->any_name = true;
    if (above.versions.count == 0 || !read_folder(check, directory, &folder))
        return;
    const char *slash = strrchr(parent, '/');
    struct contract contract = {.name = {.text = slash != NULL && slash[1] ? slash + 1 : parent},
                                .compatibility = COMPATIBLE_FULL};
    bool usable = !above.has_compatibility || read_compatibility(check, parent, &contract);
    contract.versions =
        arena_alloc(program->arena, above.versions.count * sizeof *contract.versions);
    for (size_t i = 0; i < above.versions.count; i++) {
        contract.versions[i] = schema_load(program, above.versions.items[i].path, (struct span){0});
        usable &= contract.versions[i] != NULL;
        contract.version_count++;
    }
    check->subject_count++;
    for (size_t i = 0; usable && i < folder.versions.count; i++)
        check_proposal(check, folder.versions.items[i].path, &above, &contract);
}

/* The folder above one that is called `breaking`; NULL: it is called otherwise. */
static const char *above_breaking(struct check *check, const char *directory)
{
    const char *slash = strrchr(directory, '/');
    if (strcmp(slash != NULL ? slash + 1 : directory, "breaking") != 0)
        return NULL;
    if (slash == NULL)
        return ".";
    return slash == directory
               ? "/"
               : arena_strndup(check->program->arena, directory, (size_t)(slash - directory));
}

static void check_folder(struct check *check, const char *directory, unsigned depth)
{
    struct folder folder = {0};
    if (depth > FOLDERS_MAX_DEPTH) {
        diag_error(check->program, PC5001, (struct span){0}, "`%s` is more than %d folders deep",
                   directory, FOLDERS_MAX_DEPTH);
        return;
    }
    if (!read_folder(check, directory, &folder))
        return;
    if (folder.versions.count > 0)
        check_subject(check, directory, &folder);
    for (size_t i = 0; i < folder.folders.count; i++)
        check_folder(check, folder.folders.items[i], depth + 1);
}

int contracts_check_directory(struct program *program, const char *directory, FILE *out,
                              struct text *summary)
{
    struct check check = {.program = program, .out = out};
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/')
        size--;
    directory = arena_strndup(program->arena, directory, size);
    unsigned errors_before = diag_error_count(program);
    const char *above = above_breaking(&check, directory);
    if (above != NULL)
        check_breaking(&check, directory, above);
    else
        check_folder(&check, directory, 0);
    unsigned errors = diag_error_count(program) - errors_before;
    if (errors == 0 && check.subject_count == 0) {
        struct diag *diag =
            diag_error(program, PC5001, (struct span){0}, "`%s` has no schema to check", directory);
        diag_help(diag, "schemas are looked for as DIR/SUBJECT/vN.avsc");
        errors = 1;
    }
    text_printf(summary, "%u subject%s, %u version%s: ", check.subject_count,
                check.subject_count == 1 ? "" : "s", check.version_count,
                check.version_count == 1 ? "" : "s");
    if (errors == 0)
        text_puts(summary, "all compatible\n");
    else
        text_printf(summary, "%u error%s\n", errors, errors == 1 ? "" : "s");
    return errors == 0 ? 0 : 1;
}
