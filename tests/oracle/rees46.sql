-- What pipelines/rees46.pipe must compute, in SQL over the raw CSV, sharing no code with pipec.
--
-- Input, loaded by rees46.py:
--   line(record, fields, payload)   every record after the header: its number from 0, its number
--                                   of fields, its text as it came
--   raw(record, event_time, …)      the fields as text, of records with the right number of them
-- base64(text) is the one function that is not SQLite's own.
--
-- The watermark never matters here: late_input holds records that are earlier than one before
-- them in the file, and must be empty.

create temp view fault as
  select record, 'undecodable' as reason, 'events' as rule from line where fields <> 9
  union all
  select record,
         case when user_session = '' then 'session_missing' else 'price_not_positive' end,
         'valid'
  from raw
  where user_session = '' or cast(replace(price, '.', '') as integer) <= 0;

create temp view valid as
  select raw.*,
         cast(strftime('%s', replace(event_time, ' UTC', '')) as integer) as t,
         cast(replace(price, '.', '') as integer) as price_cents
  from raw
  where record not in (select record from fault);

create temp table late_input as
  select record from (
    select record, t,
           max(t) over (order by record rows between unbounded preceding and 1 preceding) as before
    from valid)
  where t < before;

-- The first of several equal rows stays. They have the same second, so no time limit can matter.
create temp table clean as
  select *, case when category_code = '' then 'none'
                 when instr(category_code, '.') = 0 then category_code
                 else substr(category_code, 1, instr(category_code, '.') - 1) end as category
  from (select *, row_number() over (
          partition by event_time, event_type, product_id, category_id, category_code, brand, price,
                       user_id, user_session
          order by record) as copy
        from valid)
  where copy = 1;

create temp table duplicate as
  select record from valid where record not in (select record from clean);

create temp view by_window as
  select t / 600 * 600 as start, category, count(*) as events,
         sum(event_type = 'purchase') as purchases, sum(price_cents) as amount_cents
  from clean
  group by start, category;

-- A session ends where the next event of the same session id is 30 minutes away or more.
create temp table in_session as
  select *, sum(opens) over (partition by user_session order by t, record) as part
  from (select *, case when t - lag(t) over (partition by user_session order by t, record) < 1800
                       then 0 else 1 end as opens
        from clean);

create index temp.in_session_order on in_session (user_session, part, t, record);

create temp view by_session as
  select user_session, min(t) as started, max(t) as ended, count(*) as events,
         count(distinct product_id) as products,
         sum(case when event_type = 'purchase' then price_cents else 0 end) as spent_cents,
         (select f.user_id from in_session f
          where f.user_session = s.user_session and f.part = s.part
          order by f.t, f.record limit 1) as user_id
  from in_session s
  group by user_session, part;

-- The same rows as the program writes them: every column as text.

create temp view expected_clean as
  select event_time, event_type, product_id, category_id, category_code, brand, price, user_id,
         user_session, strftime('%Y-%m-%dT%H:%M:%S', t, 'unixepoch') as occurred_at, category
  from clean;

create temp view expected_windows as
  select strftime('%Y-%m-%dT%H:%M:%S', start, 'unixepoch')       as window_start,
         strftime('%Y-%m-%dT%H:%M:%S', start + 600, 'unixepoch') as window_end,
         category, cast(events as text) as events, cast(purchases as text) as purchases,
         printf('%d.%02d', amount_cents / 100, amount_cents % 100) as amount
  from by_window;

create temp view expected_sessions as
  select strftime('%Y-%m-%dT%H:%M:%S', started, 'unixepoch')      as window_start,
         strftime('%Y-%m-%dT%H:%M:%S', ended + 1800, 'unixepoch') as window_end,
         user_session, user_id, cast(events as text) as events, cast(products as text) as products,
         printf('%d.%02d', spent_cents / 100, spent_cents % 100)  as spent,
         strftime('%Y-%m-%dT%H:%M:%S', started, 'unixepoch')      as started_at,
         strftime('%Y-%m-%dT%H:%M:%S', ended, 'unixepoch')        as ended_at
  from by_session;

create temp view expected_rejected as
  select reason, rule, '0' as partition, cast(fault.record as text) as offset,
         null as kafka_time, null as key, base64(payload) as payload
  from fault join line on line.record = fault.record;
