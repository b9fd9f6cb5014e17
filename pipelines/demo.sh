#!/usr/bin/env bash
# The main job, killed again and again: clickstream.pipe over its own traffic with every fault,
# ended by kill -9 at seeded moments, also inside commits, and started again each time. Then every
# record is accounted for.
#
#   pipelines/demo.sh [BUILD]
#
# These may be set: SEED (1), EVENTS (600000), RATE (1000 a second, in the time of the events),
# KILLS (6; 0 to 100), RUN (run/demo), PROGRAM (BUILD/clickstream, which is built).
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
seed=${SEED:-1}
events=${EVENTS:-600000}
rate=${RATE:-1000}
kills=${KILLS:-6}
run=${RUN:-run/demo}
program=${PROGRAM:-$build/clickstream}
watched=$run/tables/clean_lake.jsonl
row_bytes=470 # of a row in it, about
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true' EXIT

for number in "$seed" "$events" "$rate" "$kills"; do
    case $number in
    '' | *[!0-9]*)
        echo "demo: SEED, EVENTS, RATE and KILLS are numbers, not '$number'" >&2
        exit 2
        ;;
    esac
done

if [ "$events" -eq 0 ] || [ "$rate" -eq 0 ] || [ "$kills" -gt 100 ]; then
    echo "demo: EVENTS and RATE are 1 or more, KILLS is 0 to 100" >&2
    exit 2
fi
most_kills=$((kills > 0 ? kills + 6 : 0)) # until one was inside a commit

size_of() {
    stat -c %s "$1" 2>/dev/null || echo 0
}

is_running() {
    kill -0 "$pid" 2>/dev/null
}

start() {
    starts=$((starts + 1))
    : >"$run.log"
    "$program" run --embedded "$run" --traffic --count "$events" --rate "$rate/s" --seed "$seed" \
        --commit-interval 50ms --progress never 2>>"$run.log" &
    pid=$!
}

# What this start says of the process that was killed before it.
tell_recovery() {
    local replayed cut state
    while is_running && ! grep -q ' resumed ' "$run.log"; do
        sleep 0.01
    done
    replayed=$(sed -nE 's/.* resumed .*replayed_records=([0-9]+).*/\1/p' "$run.log")
    cut=$(sed -nE 's/.* cut back .*bytes=([0-9]+)$/\1/p' "$run.log" |
        awk '{ sum += $1 } END { print sum + 0 }')
    if [ "$cut" -gt 0 ]; then
        inside=$((inside + 1))
        echo "     inside a commit: $cut bytes of files were not committed, and are cut off"
    fi
    state=$(sed -nE 's/.* resumed .*state_entries=([0-9]+).*/\1/p' "$run.log")
    echo "     started again with ${state:-0} ids, windows and sessions;" \
        "for what was not saved of them ${replayed:-0} records were replayed"
}

# Waits until the watched file is $1 bytes long, then until the next commit begins ($2: in), or some
# milliseconds. False: the run ended before.
wait_for_moment() {
    local now
    while now=$(size_of "$watched") && [ "$now" -lt "$1" ]; do
        is_running || return 1
        sleep 0.002
    done
    if [ "$2" = in ]; then # files are written first, then the log
        while [ "$(size_of "$watched")" -eq "$now" ]; do
            is_running || return 1
        done
    else
        sleep "0.0$((RANDOM % 90 + 10))"
    fi
    is_running
}

# One run with its kills, in the first three quarters of the output (later ones only if none was
# inside a commit); false if it ended before there were enough.
run_killed() {
    local killed=0 step=$((kills > 0 ? 750 / kills : 0)) share moment
    rm -rf "$run" "$run.log"
    mkdir -p "$run"
    RANDOM=$((seed % 32768))
    starts=0
    inside=0
    start
    while [ "$killed" -lt "$kills" ] ||
        { [ "$inside" -eq 0 ] && [ "$killed" -lt "$most_kills" ]; }; do
        share=$((killed * step + RANDOM % step))
        if [ "$killed" -ge "$kills" ]; then
            share=$((750 + (killed - kills) * 25))
        fi
        moment=$([ $((killed % 2)) -eq 0 ] && echo in || echo between)
        wait_for_moment $((events * row_bytes / 1000 * share)) "$moment" || return 1
        kill -9 "$pid"
        wait "$pid" 2>/dev/null || true
        killed=$((killed + 1))
        echo "  $killed  kill -9 $pid, when the file of the sink clean_lake had" \
            "$(($(size_of "$watched") / 1000)) kB"
        start
        tell_recovery
    done
}

finish() {
    local status=0
    wait "$pid" || status=$?
    pid=
    if [ "$status" -ne 0 ]; then
        cat "$run.log" >&2
        echo "demo: the run failed, exit $status" >&2
        exit 1
    fi
}

if [ -z "${PROGRAM:-}" ]; then
    echo "== pipec build pipelines/clickstream.pipe"
    "$build/pipec" build pipelines/clickstream.pipe --out "$build/generated" -o "$program"
    echo
fi
echo "== $program run --embedded $run --traffic --count $events --rate $rate/s --seed $seed"
echo "   with events that are late, out of order, sent twice, wrong, or poison"
echo
until run_killed; do
    wait "$pid" 2>/dev/null || true
    if ! grep -q 'conservation' "$run.log"; then
        finish # it failed
    fi
    events=$((events * 2))
    echo "  it ended before it was killed $kills times; again, with $events events"
done
finish
echo
echo "   killed $((starts - 1)) times, $inside times inside a commit;" \
    "start $starts went to the end:"
echo
sed -n '/^  stream /,/^$/p' "$run.log"
echo "== $program reconcile $run"
verdict=0
"$program" reconcile "$run" || verdict=$?
if [ "$verdict" -ne 0 ]; then
    exit "$verdict"
fi
cat <<TEXT

What to try next:
  clickhouse local -q "SELECT category, count() AS events, sum(price_cents) / 100 AS revenue
    FROM file('$run/tables/clean_olap/*.native', Native) GROUP BY category ORDER BY revenue DESC"
      the table, without a server; \`$program inspect $run table clean_olap\` prints its rows
  make demo SEED=2
      other events, other moments
  $program inspect $run dump agg.windows --limit 5
      rows of a topic; \`inspect $run topics\` names them all
  $program reconcile $run --ledger-out ledger.jsonl
      what was sent, and every fault in it
  sed -i '7s/0/1/' $run/tables/clean_lake.jsonl && $program reconcile $run
      one digit of one row is changed, and found
  edit pipelines/clickstream.pipe (a window, a rule), then make demo again
TEXT
