#!/usr/bin/env bash
# The main job on the embedded default: compile clickstream.pipe, run it over its own traffic with every fault, and print
# what happened to every record.  Usage: pipelines/demo.sh [BUILD] ; EVENTS, RATE and SEED may be set.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
events=${EVENTS:-200000}
rate=${RATE:-500}
seed=${SEED:-1}
run=run/demo

echo "== pipec build pipelines/clickstream.pipe"
"$build/pipec" build pipelines/clickstream.pipe --out "$build/generated" -o "$build/clickstream"
echo "== $build/clickstream run --embedded $run --traffic --count $events --rate $rate/s --seed $seed"
rm -rf "$run"
"$build/clickstream" run --embedded "$run" --traffic --count "$events" --rate "$rate/s" --seed "$seed"
cat <<TEXT

Every record is in one of these streams. What to try next:
  $build/clickstream inspect $run topics                     the topics, with records and bytes
  $build/clickstream inspect $run dump agg.windows --limit 5   rows of one of them
  $build/pipec --explain pipelines/clickstream.pipe          the plan
  edit pipelines/clickstream.pipe (a window, a rule), then make demo again
TEXT
