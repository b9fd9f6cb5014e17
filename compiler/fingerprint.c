/* fingerprint.c: what makes two plans the same: the fields that decide rows and stored state, and
 * nothing else. */
#include "plan.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

/* Raised when the runtime computes something else from the same plan: stored state then belongs to
 * another plan. */
#define PIPE_SEMANTICS_VERSION "1"

void plan_fingerprint(struct program *program)
{
    json_t *json = plan_json(program, true);
    char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(json);
    if (text == NULL)
        out_of_memory();
    unsigned char digest[SHA256_DIGEST_LENGTH];
    size_t size = strlen(text);
    char *keyed = malloc(size + sizeof PIPE_SEMANTICS_VERSION);
    if (keyed == NULL)
        out_of_memory();
    memcpy(keyed, PIPE_SEMANTICS_VERSION, sizeof PIPE_SEMANTICS_VERSION);
    memcpy(keyed + sizeof PIPE_SEMANTICS_VERSION - 1, text, size);
    size += sizeof PIPE_SEMANTICS_VERSION - 1;
    if (SHA256((const unsigned char *)keyed, size, digest) == NULL) {
        fprintf(stderr, "pipec: SHA-256 failed in libcrypto; is it disabled on this machine?\n");
        exit(4);
    }
    free(keyed);
    free(text);
    program->plan->hash = 0;
    for (int i = 0; i < 8; i++)
        program->plan->hash = program->plan->hash << 8 | digest[i];
}
