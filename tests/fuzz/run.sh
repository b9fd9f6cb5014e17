#!/usr/bin/env bash
# Fuzzes every parser of untrusted bytes for a short time, from the corpus, with fixed seeds;
# replays what was found before.
#   tests/fuzz/run.sh [TARGET …]     only these
#   tests/fuzz/run.sh --grow [TARGET …]   from new seeds too; afterwards the corpus is minimised
# Environment: SECONDS_EACH (10), how long a target runs on the clock; it goes on after that until
# it has had a quarter as much time of a processor. SEED (1). JOBS (two for each processor), how
# many targets run at a time.
# A finding is kept in tests/fuzz/findings/TARGET/: mend the fault and commit the input, which is
# replayed first from then on.
# Without clang's fuzzer (package libclang-rt-VERSION-dev) corpus and findings are replayed with
# gcc's sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${SECONDS_EACH:-10}
seed=${SEED:-1}
longest=1200 # seconds on the clock for what is kept, beside whatever else runs
build=build/fuzz
here=tests/fuzz
jobs=${JOBS:-$((2 * $(nproc)))}
all=(program format schema writer_schema resolve decoder json csv state log container inputs
    functions metadata checkpoint native)
passed=0
failed=0
grow=false
if [ "${1:-}" = --grow ]; then
    grow=true
    shift
fi
[ $# -gt 0 ] && all=("$@")
declare -A max_len=([program]=8000 [format]=8000 [schema]=6000 [writer_schema]=4000
    [resolve]=4000 [decoder]=600 [json]=1000 [csv]=600
    [state]=600 [log]=600 [container]=4000 [inputs]=400 [functions]=200 [metadata]=1000
    [checkpoint]=2000
    [native]=3000)
# Of inputs that wait for ever; limits.c has the limit for those that compute.
limits=(-timeout=300 -handle_usr1=1 -handle_usr2=0)
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

# Whether clang can link a fuzzer.
has_fuzzer() {
    local dir status
    dir=$(mktemp -d)
    echo 'int LLVMFuzzerTestOneInput(const void *d, unsigned long n) { return !d && n; }' \
        >"$dir/probe.c"
    clang -fsanitize=fuzzer,address "$dir/probe.c" -o "$dir/probe" >"$dir/log" 2>&1
    status=$?
    rm -rf "$dir"
    return "$status"
}

report() { # TARGET STATUS LOG WHAT
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $1: $4"
    local places='^    #[0-9]+ .*(compiler|runtime|tests/fuzz|generated)/'
    grep -aE "ERROR|runtime error|does not hold|SUMMARY|$places" "$3" | head -n 20
}

options_of() { # TARGET: the fuzzer's options
    printf '%s\n' -seed="$seed" -max_len="${max_len[$1]}" -rss_limit_mb=2048 \
        -malloc_limit_mb=2048 "${limits[@]}" -print_final_stats=0
    case $1 in program | format) printf '%s\n' -dict="$build/keywords.dict" ;; esac
}

inputs_of() { # TARGET: the directories that there are
    local dir
    for dir in "$here/findings/$1" "$here/corpus/$1"; do
        [ -d "$dir" ] && echo "$dir"
    done
}

replay() { # TARGET: everything that is kept, once
    local files=() log=$build/logs/$1.replay status
    mapfile -t files < <(inputs_of "$1" | xargs -r -I{} find {} -type f | sort)
    [ ${#files[@]} -eq 0 ] && return
    timeout "$longest" "$build/$1" -rss_limit_mb=2048 "${limits[@]}" "${files[@]}" >"$log" 2>&1
    status=$?
    report "$1" "$status" "$log" "an input of the corpus or of a former finding: $(
        grep -a '^Running: ' "$log" | tail -n 1 | cut -d' ' -f2
    )"
}

fuzz() { # TARGET
    local options=() dirs=() found=$here/findings/$1 log=$build/logs/$1.fuzz
    local work=$build/grown/$1 status
    mkdir -p "$work" "$build/found/$1" "$build/seeds/$1" # a target may have its corpus only
    mapfile -t options < <(options_of "$1")
    mapfile -t dirs < <(inputs_of "$1")
    dirs+=("$build/seeds/$1")
    "$grow" || { rm -rf "$work" && mkdir -p "$work"; }
    FUZZ_SECONDS_EACH=$seconds timeout $((20 * seconds + longest)) "$build/$1" "${options[@]}" \
        -artifact_prefix="$build/found/$1/" "$work" "${dirs[@]}" >"$log" 2>&1
    status=$?
    if compgen -G "$build/found/$1/*" >/dev/null; then
        mkdir -p "$found"
        mv "$build/found/$1"/* "$found/"
        status=1
    fi
    report "$1" "$status" "$log" "a new finding, kept in $found"
    "$grow" && [ "$status" -eq 0 ] && minimise "$1"
}

# The corpus: the smallest inputs that together reach what all of them do, as far as they fit.
minimise() { # TARGET
    local target=$1 limit=20480 most=150 kept=$here/corpus/$1 whole=$build/whole/$1
    local size total=0 count=0 file
    rm -rf "$whole" && mkdir -p "$whole" "$kept"
    "$build/$target" -merge=1 -max_len="${max_len[$target]}" "$whole" "$kept" \
        "$build/grown/$target" "$build/seeds/$target" \
        >"$build/logs/$target.merge" 2>&1 || return
    rm -f "$kept"/*
    while read -r size file; do
        total=$((total + size))
        count=$((count + 1))
        [ "$total" -gt "$limit" ] || [ "$count" -gt "$most" ] && break
        cp "$whole/$file" "$kept/${file:0:12}"
    done < <(find "$whole" -type f -printf '%s %f\n' | sort -n)
}

mkdir -p "$build/logs"
engine=libfuzzer
if ! has_fuzzer; then
    engine=replay
    build=build/fuzz-replay
    mkdir -p "$build/logs"
    echo "clang's fuzzer runtime is missing (apt-get install libclang-rt-14-dev, or that of your" \
        "clang): corpus and findings are only replayed"
fi
make --no-print-directory -j2 build/pipec >"$build/logs/pipec" 2>&1
make --no-print-directory -j2 -f "$here/fuzz.mk" ENGINE="$engine" BUILD="$build" \
    >"$build/logs/build" 2>&1 || {
    grep -E 'error|undefined|multiple' "$build/logs/build" | head -n 20
    tail -n 5 "$build/logs/build"
    echo '0 passed, 1 failed'
    exit 1
}
python3 "$here/seeds.py" "$build/seeds" || exit 1
# Each target in a process of its own, which leaves its counts in a file.
results=$build/results
rm -rf "$results" && mkdir -p "$results"
for target in "${all[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    {
        replay "$target"
        [ "$engine" = libfuzzer ] && fuzz "$target"
        echo "$passed $failed" >"$results/$target"
    } &
done
wait
for target in "${all[@]}"; do
    # A target without counts has not come to its end.
    read -r good bad <"$results/$target" || { good=0 && bad=1; }
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
