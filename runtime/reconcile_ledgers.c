/*
 * reconcile_ledgers.c: which traffics were sent: what `run --traffic` has committed, what `traffic`
 * has committed on Kafka (reconcile_kafka.c), and --ledger.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "reconcile.h"
#include "regular_file.h"

struct reconcile_ledger *reconcile_add_ledger(struct reconcile *r,
                                              const struct pipe_ledger_head *head)
{
    r->ledgers = pipe_realloc(r->ledgers, (r->ledger_count + 1) * sizeof *r->ledgers);
    struct reconcile_ledger *ledger = &r->ledgers[r->ledger_count++];
    *ledger =
        (struct reconcile_ledger){.source = r->plan->traffics[head->traffic].source, .head = *head};
    if (r->has_ledger == NULL)
        r->has_ledger = pipe_calloc(r->plan->source_count + 1, sizeof *r->has_ledger);
    r->has_ledger[ledger->source] = true;
    return ledger;
}

/* The one that --ledger tells about too. A directory has one a source. */
static struct reconcile_ledger *find_ledger(struct reconcile *r,
                                            const struct pipe_ledger_head *head)
{
    for (uint32_t i = 0; i < r->ledger_count; i++) {
        struct reconcile_ledger *ledger = &r->ledgers[i];
        if (ledger->source == r->plan->traffics[head->traffic].source &&
            (!r->kafka || (ledger->head.traffic == head->traffic &&
                           ledger->head.options.seed == head->options.seed)))
            return ledger;
    }
    return NULL;
}

/* What `run --traffic` has committed of the generator. */
static bool committed_ledger(struct reconcile *r, uint32_t traffic)
{
    struct pipe_log *log = r->engine->log;
    uint32_t source = r->plan->traffics[traffic].source;
    struct pipe_ledger_head made = {0}, *head = &made;
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    char name[160];
    bool found;
    int64_t fed, seed, rate;
    snprintf(name, sizeof name, "feeder/%s", r->plan->traffics[traffic].name);
    bool ok = log->ops->get(log, name, &value, &found);
    if (!ok)
        reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
    if (ok && found && !r->has_ledger[source]) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        ok = pipe_avro_long(&reader, &fed) && pipe_avro_long(&reader, &head->options.count) &&
             pipe_avro_long(&reader, &rate) && pipe_rate_load(rate, &head->options.rate_per_hour) &&
             pipe_avro_long(&reader, &seed) && pipe_avro_long(&reader, &head->options.start_ms) &&
             pipe_feeder_get_stops(&reader, &head->options);
        if (!ok)
            reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed", name);
        else if (!(ok = pipe_feeder_is_same(r->plan, traffic, &head->options)))
            reconcile_fail(r, PIPE_EXIT_STATE,
                           "the traffic in %s was begun with another `traffic %s` statement: "
                           "reconcile with the program that sent it",
                           r->place, r->plan->traffics[traffic].name);
        head->traffic = traffic;
        head->partitions = r->engine->sources[source].partitions;
        head->options.seed = ok ? (uint64_t)seed : 0;
        head->position = ok ? (uint64_t)fed : 0;
        if (ok)
            reconcile_add_ledger(r, head);
    }
    pipe_buf_free(&value);
    return ok;
}

/* --ledger: what `traffic --ledger` wrote of the files that were read, or an earlier --ledger-out.
 */
static bool given_ledger(struct reconcile *r)
{
    const char *path = r->options->ledger;
    struct pipe_ledger_head head;
    char line[4096], error[400];
    FILE *file = pipe_fopen_regular(path);
    if (file == NULL)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be opened: %s", path,
                              pipe_regular_reason(errno));
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read || !pipe_ledger_read_head(r->plan, pipe_str_of(line, strlen(line)), &head, error,
                                        sizeof error))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s: %s", path,
                              read ? error : "it is empty; a ledger begins with its head");
    uint32_t source = r->plan->traffics[head.traffic].source;
    struct reconcile_ledger *known = find_ledger(r, &head);
    const struct pipe_ledger_head *have = known != NULL ? &known->head : &head;
    if (head.partitions != r->engine->sources[source].partitions)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s: it is of %u partitions, but %s has %u", path,
                              head.partitions, r->plan->sources[source].name,
                              r->engine->sources[source].partitions);
    if (known != NULL &&
        (head.traffic != have->traffic || head.options.seed != have->options.seed ||
         head.options.start_ms != have->options.start_ms ||
         head.options.count != have->options.count || head.position != have->position ||
         head.options.rate_per_hour != have->options.rate_per_hour)) {
        char given[PIPE_RATE_TEXT], rate[PIPE_RATE_TEXT];
        pipe_rate_text(head.options.rate_per_hour, given);
        pipe_rate_text(have->options.rate_per_hour, rate);
        return reconcile_fail(
            r, PIPE_EXIT_DATA,
            "%s: it is of seed %" PRIu64 ", count %" PRId64 ", rate %s, position %" PRIu64
            ", but committed in %s are seed %" PRIu64 ", count %" PRId64
            ", rate %s, position %" PRIu64,
            path, head.options.seed, head.options.count, given, head.position, r->place,
            have->options.seed, have->options.count, rate, have->position);
    }
    known = known != NULL ? known : reconcile_add_ledger(r, &head);
    known->given = true;
    return true;
}

bool reconcile_find_ledgers(struct reconcile *r)
{
    const struct pipe_plan *plan = r->plan;
    if (r->has_ledger == NULL)
        r->has_ledger = pipe_calloc(plan->source_count + 1, sizeof *r->has_ledger);
    r->ledger_totals = pipe_calloc(plan->source_count + 1, sizeof *r->ledger_totals);
    for (uint32_t i = 0; !r->kafka && i < plan->traffic_count; i++) {
        if (!committed_ledger(r, i))
            return false;
    }
    if (r->options->ledger != NULL && !given_ledger(r))
        return false;
    return r->ledger_count > 0 || r->options->ledger_out == NULL ||
           reconcile_fail(
               r, PIPE_EXIT_DATA,
               "--ledger-out: the input of %s is not from traffic, so there is no ledger of "
               "it; `%s traffic --ledger FILE` writes one beside files",
               r->place, plan->name);
}
