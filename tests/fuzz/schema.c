/*
 * schema.c: one or two Avro schema files, the writer's behind a line "---": read by the compiler
 * and, where that accepts them, by the runtime, which must find the same fingerprint; compared as
 * versions of one contract; and derived again.
 */
#include "fuzz.h"
#include "contracts.h"
#include "avro_writer_schema.h"

static void compare_with_runtime(const struct schema *schema)
{
    char error[256] = "";
    struct pipe_writer_schema *written =
        pipe_writer_schema_parse(schema->source->text, schema->source->size, error, sizeof error);
    FUZZ_CHECK(written != NULL);
    FUZZ_CHECK(pipe_writer_schema_fingerprint(written) == schema->fingerprint);
    FUZZ_CHECK(strcmp(pipe_writer_schema_name(written), schema->record->full_name) == 0);
    pipe_writer_schema_free(written);
}

static void derive_again(struct program *program, const struct schema *schema)
{
    const char *derived = schema_derive(program, "derived", schema->record);
    if (derived == NULL)
        return;
    const char *path = fuzz_file(1, (const uint8_t *)derived, strlen(derived));
    const struct schema *again = schema_load(program, path, (struct span){0});
    FUZZ_CHECK(again != NULL || diag_error_count(program) > 0);
    if (again != NULL)
        FUZZ_CHECK(again->record->field_count == schema->record->field_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size > 5 ? memmem(data, size, "\n---\n", 5) : NULL;
    size_t first = mark != NULL ? (size_t)(mark - data) : size;
    struct program *program = program_new(".");
    struct contract contract = {
        .name = {.text = "c"}, .compatibility = COMPATIBLE_FULL, .transitive = true};
    struct schema *versions[2];
    contract.versions = versions;
    versions[0] = schema_load(program, fuzz_file(0, data, first), (struct span){0});
    FUZZ_CHECK((versions[0] == NULL) == (diag_error_count(program) > 0));
    if (versions[0] != NULL) {
        contract.version_count = 1;
        compare_with_runtime(versions[0]);
        if (mark != NULL)
            versions[1] =
                schema_load(program, fuzz_file(1, mark + 5, size - first - 5), (struct span){0});
        if (mark != NULL && versions[1] != NULL) {
            contract.version_count = 2;
            if (contract_check(program, &contract, (struct span){0}))
                FUZZ_CHECK(contract_resolve(program, versions[1], versions[0]) != NULL);
        }
        derive_again(program, versions[0]);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    diag_print(program, nowhere, false);
    fclose(nowhere);
    program_free(program);
    return 0;
}
