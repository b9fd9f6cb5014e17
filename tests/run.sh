#!/usr/bin/env bash
# All tests, in the order in which a fault is cheapest to find. Each suite prints
# `N passed, N failed`; the last line sums.
#   tests/run.sh [SUITE …]     only these
set -u
cd "$(dirname "$0")/.." || exit 1
export PIPEC_HOME=$PWD
# What the tests compile is linked by gold, if it is there: in a third of the time.
command -v ld.gold >/dev/null && export CFLAGS="${CFLAGS-} -fuse-ld=gold"
logs=build/test-logs
mkdir -p "$logs"
rm -f "$logs"/results.* # of lanes
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

# cmocka's own counts, summed; two programs at a time.
unit() {
    local build=$1 ok=0 bad=0 log each
    shift
    make --no-print-directory -j2 "$@" unit-programs || return 1
    each=$(mktemp -d)
    find "$build/unit" -maxdepth 1 -type f -executable -printf '%f\n' | sort |
        xargs -P 2 -I{} sh -c '"$1/$3" >"$2/$3" 2>&1 || : >"$2/$3.failed"' \
            - "$build/unit" "$each" {}
    for log in "$each"/*; do
        if [[ $log = *.failed ]]; then
            cat "${log%.failed}"
            bad=$((bad + 1))
        else
            ok=$((ok + $(grep -ac '^\[       OK \]' "$log")))
        fi
    done
    rm -rf "$each"
    echo "$ok passed, $bad failed"
    [ "$bad" -eq 0 ] && [ "$ok" -gt 0 ]
}

# start LANE …: functions that run suites, one after the other in each, at the same time as each
# other and as what follows; `join LANE …` waits for them and takes over what they counted.
declare -A lane_pids
start() {
    local lane name
    for lane in "$@"; do
        (
            passed=0 failed=0 skipped=0
            "$lane"
            for name in "${!broken[@]}"; do
                echo "0 0 0 $name ${broken[$name]}"
            done >"$logs/results.$lane"
            echo "$passed $failed $skipped" >>"$logs/results.$lane"
        ) &
        lane_pids[$lane]=$!
    done
}

join() {
    local lane ok bad out name blamed
    for lane in "$@"; do
        wait "${lane_pids[$lane]}"
        [ -s "$logs/results.$lane" ] || failed=$((failed + 1)) # it has not come to its end
        while read -r ok bad out name blamed; do
            passed=$((passed + ok))
            failed=$((failed + bad))
            skipped=$((skipped + out))
            [ -n "$name" ] && broken[$name]=$blamed
        done <"$logs/results.$lane"
    done
}

beside() {
    start "$@"
    join "$@"
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

# With the warnings of the project; the targets of `fuzz` are linked with what is compiled here.
clang() {
    make --no-print-directory -s -j2 -f tests/fuzz/fuzz.mk archives
}

# Twenty seeds twice: the same seed must make the same calls.
sim() {
    make --no-print-directory -j2 build/sim/sim || return 1
    build/sim/sim --count 20 --twice && build/sim/sim --count 2000
}

asan_build() {
    make --no-print-directory -j2 SANITIZE=1 all programs
}

# At a low priority: what is compiled here is wanted only here, and a target gets half of its time
# of a processor however long that takes, so these can have what the suites beside them leave, which
# wait for disks, brokers and each other.
lane_of_fuzz() {
    renice -n 10 -p "$BASHPID" >/dev/null
    suite clang - clang
    suite fuzz clang env SECONDS_EACH="${FUZZ_SECONDS:-$fuzz_seconds}" tests/fuzz/run.sh
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

[ "${CI-}" = true ] && fuzz_seconds=60 || fuzz_seconds=5
suite build - build
start lane_of_fuzz
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
suite asan_build - asan_build
suite asan_golden asan_build tests/golden/run.py --build build/asan
beside asan_lane_of_units asan_lane_of_pipelines
join lane_of_fuzz

# What all of it has taken: the clock, and the processors for what has come to its end.
times >"$logs/all.times"
read -r user system < <(tail -n 1 "$logs/all.times")
printf '%-12s %s s (user %s, system %s)\n' all "$SECONDS" "$user" "$system"
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
