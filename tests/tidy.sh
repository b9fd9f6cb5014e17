#!/bin/bash
# Checks the shape of the code: lengths of files, functions and lines, left-overs, paths, include
# guards, layout.
#
#   tests/tidy.sh           check; exit 0 if every rule is at its tolerated count, 1 if not
#   tests/tidy.sh --lower   also lower the tolerated counts to what is found (never raises one)
#
# The ratchet file tests/tidy.ratchet holds "RULE COUNT" lines: a rule may be broken so often, not
# more. When fewer breaks are found, the check fails until the count is lowered, so it stays so.
# Files: those git tracks (outside of a checkout all), without emitted C (generated/,
# tests/golden/c/).
# shellcheck disable=SC2016  # the $ in single quotes is awk's
set -euo pipefail
cd "$(dirname "$0")/.."

ratchet=tests/tidy.ratchet
rules="file-lines function-lines line-columns left-over path trailing-space include-guard
    pipe-format shell"
max_file_lines=800 max_function_lines=70 max_columns=100

found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
for rule in $rules; do
    : >"$found/$rule"
done

# All files that match a pattern as `git ls-files` takes it.
files_outside_git() {
    local pattern
    for pattern in "$@"; do
        find . -type f -path "./$pattern" ! -path './build/*' ! -path './run/*' | sed 's,^\./,,'
    done
}

# The files of the project that match a pattern, one a line.
files_named() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached -- "$@"
    else
        files_outside_git "$@"
    fi | sort -u |
        while IFS= read -r file; do
            case $file in
            generated/* | tests/golden/c/*) ;; # emitted
            *) if [ -f "$file" ]; then printf '%s\n' "$file"; fi ;;
            esac
        done
}

code() {
    files_named '*.c' '*.h' '*.l' '*.y' '*.cc' '*.py' '*.sh'
}

prose() {
    files_named '*.md' '*.pipe' '*.avsc' '*.sql' '*.def' '*.yml' '*.yaml' '*Makefile' \
        '*Dockerfile*' '.ci/*'
}

# A column is a code point: UTF-8 continuation bytes are taken out before counting.
check_lengths() {
    code | tr '\n' '\0' | LC_ALL=C xargs -0 -r awk -v max_file="$max_file_lines" \
        -v max_columns="$max_columns" -v out="$found" '
        function end_file() {
            if (lines > max_file)
                print name ": " lines " lines, at most " max_file >> (out "/file-lines")
        }
        FNR == 1 { end_file(); name = FILENAME; lines = 0 }
        {
            lines = FNR
            line = $0
            gsub(/[\200-\277]/, "", line)
            if (length(line) > max_columns)
                print FILENAME ":" FNR ": " length(line) " columns, at most " max_columns \
                    >> (out "/line-columns")
        }
        END { end_file() }'
}

# A function of C reaches from "{" to "}", both in column 0.
check_c_functions() {
    files_named '*.c' '*.h' '*.l' '*.y' '*.cc' | tr '\n' '\0' |
        xargs -0 -r awk -v max="$max_function_lines" '
        FNR == 1 { begin = 0 }
        /^{/ { begin = FNR }
        /^}/ {
            if (begin && FNR - begin + 1 > max)
                print FILENAME ":" begin ": a function of " FNR - begin + 1 " lines, at most " max
            begin = 0
        }' >>"$found/function-lines"
    files_named '*.sh' | tr '\n' '\0' | xargs -0 -r awk -v max="$max_function_lines" '
        FNR == 1 { begin = 0 }
        /^[a-z_]+\(\) *[{]/ { begin = FNR }
        /^}/ {
            if (begin && FNR - begin + 1 > max)
                print FILENAME ":" begin ": a function of " FNR - begin + 1 " lines, at most " max
            begin = 0
        }' >>"$found/function-lines"
}

# A function of Python reaches from its "def" to the last line that is indented further.
check_python_functions() {
    files_named '*.py' | tr '\n' '\0' | xargs -0 -r awk -v max="$max_function_lines" '
        function close_deeper(depth) {
            while (open && indents[open] >= depth) {
                if (last - begins[open] + 1 > max)
                    print name ":" begins[open] ": a function of " last - begins[open] + 1 \
                        " lines, at most " max
                open--
            }
        }
        FNR == 1 { close_deeper(0); name = FILENAME; open = 0 }
        /^ *$/ { next }
        {
            match($0, /^ */)
            depth = RLENGTH
            if ($0 !~ /^ *[)\]}]/)
                close_deeper(depth)
            if ($0 ~ /^ *(async )?def /) {
                open++
                begins[open] = FNR
                indents[open] = depth
            }
            last = FNR
        }
        END { close_deeper(0) }' >>"$found/function-lines"
}

# The patterns are written so that they do not match themselves.
check_text() {
    { code; prose; } | sort -u | tr '\n' '\0' >"$found/.text"
    xargs -0 -r grep -nHEw '(TOD[O]|FIXM[E]|XX[X])' <"$found/.text" >>"$found/left-over" || true
    xargs -0 -r grep -nHE '(/hom[e]/[a-z]|/roo[t]/|/User[s]/|/wor[k]/)' <"$found/.text" \
        >>"$found/path" || true
    xargs -0 -r grep -nHE '[[:space:]]+$' <"$found/.text" >>"$found/trailing-space" || true
}

check_guards() {
    files_named '*.h' | while IFS= read -r header; do
        awk '
        /^#ifndef [A-Z0-9_]+_H$/ && !directives { guard = $2 }
        /^#/ { directives++; if (directives == 2 && guard && $0 == "#define " guard) good = 1 }
        END { exit !good }' "$header" ||
            echo "$header: the first two directives are no include guard"
    done >>"$found/include-guard"
}

check_tools() {
    if [ -x build/pipec ]; then
        files_named 'pipelines/*.pipe' | while IFS= read -r pipe; do
            build/pipec fmt --check "$pipe" >/dev/null 2>&1 </dev/null ||
                echo "$pipe: not in the layout of build/pipec fmt"
        done >>"$found/pipe-format"
    fi
    if command -v shellcheck >/dev/null; then
        files_named '*.sh' | tr '\n' '\0' |
            xargs -0 -r shellcheck -S warning -f gcc >>"$found/shell" || true
    fi
}

tolerated() {
    awk -v rule="$1" '$1 == rule { count = $2 } END { print count + 0 }' "$ratchet"
}

report() {
    local failed=0 rule count limit
    for rule in $rules; do
        count=$(wc -l <"$found/$rule")
        limit=$(tolerated "$rule")
        if [ "$count" -gt "$limit" ]; then
            failed=1
            cat "$found/$rule"
            echo "tidy: $rule: $count found, $limit tolerated"
        elif [ "$count" -lt "$limit" ]; then
            if [ "${1-}" = --lower ]; then
                sed -i "s/^$rule [0-9]*\$/$rule $count/" "$ratchet"
                echo "tidy: $rule: lowered from $limit to $count"
            else
                failed=1
                echo "tidy: $rule: only $count found, $limit tolerated; run tests/tidy.sh --lower"
            fi
        fi
    done
    return "$failed"
}

check_lengths
check_c_functions
check_python_functions
check_text
check_guards
check_tools
if report "$@"; then
    echo "tidy: all in shape"
else
    exit 1
fi
