#!/usr/bin/env bash
# All tests, in the order in which a fault is cheapest to find. Each suite prints
# `N passed, N failed`; the last line sums.
#   tests/run.sh [SUITE …]     only these
set -u
cd "$(dirname "$0")/.." || exit 1
export PIPEC_HOME=$PWD
logs=build/test-logs
mkdir -p "$logs"
results=$logs/results # of suites that ran beside others
passed=0
failed=0
skipped=0
declare -A broken # suites that failed, or were skipped: the suite that is to blame
wanted=("$@")
known=$(sed -nE 's/^ *suite ([a-z_]+) .*/\1/p' tests/run.sh)
for name in "${wanted[@]}"; do
    grep -qx -- "$name" <<<"$known" && continue
    echo "tests/run.sh: no suite '$name'; there are:" $known >&2
    exit 2
done

# suite NAME NEEDED COMMAND …: runs one suite; its log is shown if it fails. NEEDED (-: none) is the
# suite that makes what it needs: if that failed it is skipped, for it would only fail in its turn.
# A suite that counts nothing counts as one test.
suite() {
    local name=$1 needed=$2 status line ok bad out TIMEFORMAT='%0R s (user %0U, system %0S)'
    shift 2
    if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then
        return
    fi
    if [ -n "${broken[$needed]-}" ]; then
        broken[$name]=${broken[$needed]}
        printf '%-12s skipped: %s failed\n' "$name" "${broken[$needed]}"
        return
    fi
    { time "$@" >"$logs/$name.log" 2>&1; } 2>"$logs/$name.time"
    status=$?
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1)
    ok=$(sed -nE 's/^([0-9]+) passed.*/\1/p' <<<"$line")
    bad=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$line")
    out=$(sed -nE 's/.* ([0-9]+) skipped.*/\1/p' <<<"$line")
    if [ -z "$line" ]; then
        ok=$((status == 0 ? 1 : 0))
        bad=$((status == 0 ? 0 : 1))
    elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + ${out:-0}))
    printf '%-12s %4d passed, %d failed%s   %s\n' "$name" "$ok" "$bad" \
        "${out:+, $out skipped}" "$(tail -n 1 "$logs/$name.time")"
    if [ "$bad" -ne 0 ]; then
        broken[$name]=$name
        tail -n 200 "$logs/$name.log"
    elif [ "${out:-0}" -ne 0 ]; then
        grep -a 'skipped:' "$logs/$name.log"
    fi
}

# cmocka's own counts, summed.
unit() {
    local build=$1 ok=0 bad=0 test log
    shift
    make --no-print-directory -j2 "$@" unit-programs || return 1
    for test in "$build"/unit/*; do
        [ -f "$test" ] && [ -x "$test" ] || continue
        log=$(mktemp)
        if "$test" >"$log" 2>&1; then
            ok=$((ok + $(grep -ac '^\[       OK \]' "$log")))
        else
            cat "$log"
            ok=$((ok + $(grep -ac '^\[       OK \]' "$log")))
            bad=$((bad + 1))
        fi
        rm -f "$log"
    done
    echo "$ok passed, $bad failed"
    [ "$bad" -eq 0 ]
}

# beside LANE …: functions that run suites, one after the other in each, at the same time; for those
# that wait, or keep one processor busy.
beside() {
    local lane pids=() name ok bad out blamed
    : >"$results"
    for lane in "$@"; do
        (
            passed=0 failed=0 skipped=0
            "$lane"
            for name in "${!broken[@]}"; do
                echo "0 0 0 $name ${broken[$name]}"
            done >>"$results"
            echo "$passed $failed $skipped" >>"$results"
        ) &
        pids+=($!)
    done
    wait "${pids[@]}"
    while read -r ok bad out name blamed; do
        passed=$((passed + ok))
        failed=$((failed + bad))
        skipped=$((skipped + out))
        [ -n "$name" ] && broken[$name]=$blamed
    done <"$results"
}

build() {
    make --no-print-directory -j2 all
}

programs() {
    make --no-print-directory -j2 programs
}

generated() {
    local name status=0
    for name in pipelines/*.pipe; do
        name=$(basename "$name" .pipe)
        build/pipec "pipelines/$name.pipe" --out build/regenerated || status=1
        diff -ru "generated/$name" "build/regenerated/$name" || status=1
    done
    [ "$status" -eq 0 ] || echo 'run `make generated` and review the difference'
    return "$status"
}

clang() {
    make --no-print-directory -j2 BUILD=build/clang CC=clang CXX=clang++ all
}

# Twenty seeds twice: the same seed must make the same calls.
sim() {
    make --no-print-directory -j2 build/sim/sim || return 1
    build/sim/sim --count 20 --twice && build/sim/sim --count 2000
}

asan_build() {
    make --no-print-directory -j2 SANITIZE=1 all programs
}

lane_of_faults() {
    suite fault programs tests/fault/run.py
    suite clickhouse build python3 tests/clickhouse/run.py
}

# The short part of `make test-kafka`.
lane_of_brokers() {
    suite kafka build python3 tests/kafka/run.py --suite services --suite chaos
    suite follow build python3 tests/kafka/run.py --suite follow --only kill
}

lane_of_pipelines() {
    suite pipelines programs tests/pipelines/run.py
    suite registry programs tests/registry/run.py
    suite resolve build tests/registry/resolve.py
    suite reconcile programs tests/reconcile/run.py
    suite native build tests/native/run.py
    suite metrics programs tests/metrics/run.py
    suite bad_input programs python3 tests/bad_input/run.py
}

asan_lane_of_units() {
    suite asan_unit asan_build unit build/asan SANITIZE=1
    suite asan_registry asan_build tests/registry/run.py --build build/asan
    suite asan_test asan_build tests/pipec_test/run.py --build build/asan
}

asan_lane_of_pipelines() {
    suite asan_pipes asan_build tests/pipelines/run.py --build build/asan
    suite asan_recon asan_build tests/reconcile/run.py --build build/asan
    suite asan_native asan_build tests/native/run.py --build build/asan
    suite asan_input asan_build env BAD_INPUT_NO_LIMIT=1 \
        python3 tests/bad_input/run.py --build build/asan
}

suite build - build
suite tidy - tests/tidy.sh
suite stack - tests/stack/run.py
suite unit build unit build
suite golden build tests/golden/run.py
suite programs build programs
suite generated build generated
beside lane_of_faults lane_of_brokers lane_of_pipelines
suite pipec_test build tests/pipec_test/run.py
suite nth programs tests/nth/run.py
# Three at a time on two processors: a case waits for programs that it kills.
suite model build tests/model/run.py --cases 300 --jobs 3
suite sim build sim
suite mutants sim tests/mutants/run.py
suite docs build python3 tests/docs_examples.py
suite clang - clang
[ "${CI-}" = true ] && fuzz_seconds=30 || fuzz_seconds=5
suite fuzz build env SECONDS_EACH="${FUZZ_SECONDS:-$fuzz_seconds}" tests/fuzz/run.sh
suite asan_build - asan_build
suite asan_golden asan_build tests/golden/run.py --build build/asan
beside asan_lane_of_units asan_lane_of_pipelines

if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
