#!/usr/bin/env bash
# All tests, in the order in which a fault is cheapest to find. Each suite prints
# `N passed, N failed`; the last line sums.
#   tests/run.sh [SUITE …]     only these
set -u
cd "$(dirname "$0")/.." || exit 1
export PIPEC_HOME=$PWD
logs=build/test-logs
mkdir -p "$logs"
passed=0
failed=0
wanted=("$@")

# Runs one suite; its log is shown if it fails. A suite that counts nothing counts as one test.
suite() {
    local name=$1 start=$SECONDS status line ok bad
    shift
    if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then
        return
    fi
    "$@" >"$logs/$name.log" 2>&1
    status=$?
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1)
    ok=$(sed -nE 's/^([0-9]+) passed.*/\1/p' <<<"$line")
    bad=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$line")
    if [ -z "$line" ]; then
        ok=$((status == 0 ? 1 : 0))
        bad=$((status == 0 ? 0 : 1))
    elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    printf '%-12s %4d passed, %d failed   %ds\n' "$name" "$ok" "$bad" "$((SECONDS - start))"
    if [ "$bad" -ne 0 ]; then
        tail -n 200 "$logs/$name.log"
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

suite build build
suite unit unit build
suite golden tests/golden/run.py
suite programs programs
suite generated generated
suite pipelines tests/pipelines/run.py
suite pipec_test tests/pipec_test/run.py
suite bad_input python3 tests/bad_input/run.py
suite docs python3 tests/docs_examples.py
suite tidy tests/tidy.sh
suite clang clang
suite asan_unit unit build/asan SANITIZE=1
suite asan_golden tests/golden/run.py --build build/asan
suite asan_pipes tests/pipelines/run.py --build build/asan
suite asan_test tests/pipec_test/run.py --build build/asan
suite asan_input python3 tests/bad_input/run.py --build build/asan

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
