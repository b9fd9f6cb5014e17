#!/bin/sh
# What a container of the pipeline does.
#   pipeline run [OPTION …]    runs it, with a state directory that no other container has
#   pipeline apply             topics, contracts and tables as the plan wants them
#   pipeline COMMAND …         any other command of the program
set -eu
program=$PIPELINE
state=${STATE:-/state}
# reconcile sorts in TMPDIR, for the root file system is read-only.
mkdir -p "$TMPDIR" "$state/checkpoints"

# State directories are /state/1, /state/2, …; several containers share the volume, and checkpoints.
# The lock ends with the process that holds it, so what a killed container had, state and name in
# the group, the next one takes over.
run() {
    slot=0
    while [ "$slot" -lt 64 ]; do
        slot=$((slot + 1))
        exec 9>"$state/$slot.lock"
        if flock --nonblock 9; then
            mkdir -p "$state/$slot"
            exec "$program" run --state "$state/$slot" "$@"
        fi
    done
    echo "pipeline: 64 processes run with this volume; give the next one another" >&2
    exit 1
}

case ${1-} in
run)
    shift
    run "$@"
    ;;
apply)
    "$program" topics apply --sources
    "$program" contracts push
    "$program" tables apply
    ;;
*)
    exec "$program" "$@"
    ;;
esac
