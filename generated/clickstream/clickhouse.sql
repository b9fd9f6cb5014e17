-- Tables of pipeline clickstream. Needs ClickHouse 24.8 or later.

CREATE DATABASE IF NOT EXISTS lumen;

-- sink clean_olap from clean
CREATE TABLE IF NOT EXISTS lumen.events
(
    event_id String,
    session_id String,
    user_id String,
    event_type String,
    product_id Nullable(String),
    category String,
    country String,
    price_cents Nullable(Int64),
    currency String,
    url String,
    referrer Nullable(String),
    user_agent String,
    occurred_at DateTime64(3, 'UTC'),
    _pipe_partition Int32,
    _pipe_offset Int64,
    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (occurred_at, event_id)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;

-- rollup of sink clean_olap
CREATE TABLE IF NOT EXISTS lumen.by_minute
(
    minute DateTime64(0, 'UTC'),
    category String,
    country String,
    events SimpleAggregateFunction(sum, Int64),
    revenue_cents SimpleAggregateFunction(sum, Nullable(Int128))
)
ENGINE = AggregatingMergeTree
ORDER BY (minute, category, country)
SETTINGS non_replicated_deduplication_window = 10000, allow_nullable_key = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS lumen.by_minute_view TO lumen.by_minute AS
SELECT
    _pipe_key_0 AS minute,
    _pipe_key_1 AS category,
    _pipe_key_2 AS country,
    toInt64(count()) AS events,
    sum(_pipe_value_1) AS revenue_cents
FROM
(
    SELECT
        addSeconds(toDateTime64(0, 0, 'UTC'), intDiv(toUnixTimestamp64Milli(occurred_at) - positiveModulo(toUnixTimestamp64Milli(occurred_at), 60000), 1000)) AS _pipe_key_0,
        category AS _pipe_key_1,
        country AS _pipe_key_2,
        toInt128(price_cents) AS _pipe_value_1
    FROM lumen.events
)
GROUP BY _pipe_key_0, _pipe_key_1, _pipe_key_2;

-- sink windows_olap from by_category
CREATE TABLE IF NOT EXISTS lumen.windows
(
    window_start DateTime64(3, 'UTC'),
    window_end DateTime64(3, 'UTC'),
    category String,
    country String,
    events Int64,
    revenue_cents Int64,
    _pipe_partition Int32,
    _pipe_offset Int64,
    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (category, country, window_start)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;

-- sink sessions_olap from sessions
CREATE TABLE IF NOT EXISTS lumen.sessions
(
    window_start DateTime64(3, 'UTC'),
    window_end DateTime64(3, 'UTC'),
    session_id String,
    events Int64,
    started_at DateTime64(3, 'UTC'),
    ended_at DateTime64(3, 'UTC'),
    _pipe_partition Int32,
    _pipe_offset Int64,
    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (session_id, window_start)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;

-- sink dlq_olap from rejected
CREATE TABLE IF NOT EXISTS lumen.dlq
(
    reason String,
    rule String,
    detail Nullable(String),
    topic Nullable(String),
    partition Nullable(Int32),
    offset Nullable(Int64),
    kafka_time Nullable(DateTime64(3, 'UTC')),
    key Nullable(String),
    payload Nullable(String),
    _pipe_partition Int32,
    _pipe_offset Int64,
    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (_pipe_partition, _pipe_offset)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1;
