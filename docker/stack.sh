#!/usr/bin/env bash
# The stack of docker/compose.yaml: three brokers, a schema registry, ClickHouse, the pipeline.
#
#   stack.sh up                 build and start it, wait until all is healthy; topics, contracts and
#                               tables are applied
#   stack.sh demo               60 s of traffic with every fault of the `traffic` statement, kill -9
#                               of the pipeline and of a broker meanwhile; then reconcile
#   stack.sh traffic SECONDS    only that traffic
#   stack.sh settle             wait until all that was sent is read, and in the tables
#   stack.sh doctor             ask all servers whether they are as the pipeline needs them
#   stack.sh reconcile          compare every layer with what it should hold: `exact true`
#   stack.sh scale N            N processes of the pipeline
#   stack.sh contract-check     the registry refuses contracts that would break a reader
#   stack.sh down [--volumes]   end it; data stays in volumes, or goes too
#   stack.sh backup DIR         copy the volumes of a stack that is down into DIR
#   stack.sh restore DIR        make the volumes from such a copy; there must be none
#
# These may be set: RATE (1000 events a second), SECONDS_OF_TRAFFIC (60), SEED (of the traffic; else
# the time), PIPEC_SECRETS (run/stack: where the password of ClickHouse is kept, made at the first
# `up`), STACK_FILES (more compose files, divided by blanks).
set -euo pipefail
cd "$(dirname "$0")/.."
rate=${RATE:-1000}
seconds=${SECONDS_OF_TRAFFIC:-60}
export PIPEC_SECRETS=${PIPEC_SECRETS:-$PWD/run/stack}
contracts=contracts/clickstream
image=pipec/clickstream:${PIPEC_VERSION:-local}

compose() {
    local files=(-f docker/compose.yaml) file
    for file in ${STACK_FILES-}; do
        files+=(-f "$file")
    done
    docker compose "${files[@]}" "$@"
}

# A command of the program, in a container of its own, with the memory of the pipeline's.
program() {
    compose --progress quiet run --rm --no-deps -T pipeline "$@"
}

fail() {
    echo "stack.sh: $*" >&2
    exit 1
}

need_compose() {
    docker compose version >/dev/null 2>&1 ||
        fail "docker compose (v2 or later) is missing"
}

# ClickHouse's password is made once. Containers must be able to read the file: the directory keeps
# others from it.
make_secret() {
    local file=$PIPEC_SECRETS/clickhouse_password
    [ -s "$file" ] && return
    mkdir -p "$PIPEC_SECRETS"
    chmod 0700 "$PIPEC_SECRETS"
    od -An -N 18 -tx1 /dev/urandom | tr -d ' \n' >"$file"
    chmod 0644 "$file"
}

# Names of the containers of the pipeline: the running ones, or with --all all.
processes() {
    compose ps "$@" --format '{{.Name}}' pipeline
}

# Starts what does not run, with as many processes of the pipeline as there were.
start() {
    local count
    count=$(processes --all | wc -l)
    compose up --detach --wait --no-build --scale "pipeline=$((count > 1 ? count : 1))" "$@"
}

up() {
    make_secret
    compose build --quiet pipeline
    if ! start --quiet-pull; then
        compose ps --all
        compose logs --no-log-prefix --tail 20 apply pipeline
        fail "not everything became healthy; \`docker compose -f docker/compose.yaml logs NAME\`" \
            "tells more"
    fi
    compose ps --format 'table {{.Service}}\t{{.Status}}\t{{.Ports}}'
}

# Records that sources and tables are behind, of all processes; nothing if one does not answer.
lag() {
    local name sum=0 metric part
    for name in $(processes); do
        for metric in pipec_source_lag_records pipec_table_lag_records; do
            part=$(docker exec "$name" /healthy.sh metric 9464 "$metric") || return 0
            sum=$((sum + part))
        done
    done
    echo "$sum"
}

settle() {
    local left=600 behind
    while behind=$(lag) && [ "$behind" != 0 ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "the pipeline is still ${behind:-an unknown number of} records" \
            "behind"
        sleep 1
    done
}

traffic() {
    local seed=${SEED:-$(date +%s)}
    echo "== traffic --rate $rate/s --seconds $1 --seed $seed"
    compose --progress quiet run --rm --no-deps -T traffic \
        traffic --rate "$rate/s" --seconds "$1" --seed "$seed" --progress never
}

kill_one() {
    echo "== docker kill $1"
    docker kill "$1" >/dev/null
    sleep "$2"
    docker start "$1" >/dev/null
}

demo() {
    local feeder brokers victim
    traffic "$seconds" &
    feeder=$!
    sleep $((seconds / 3))
    victim=$(processes | head -n 1)
    kill_one "$victim" 1
    sleep $((seconds / 4))
    mapfile -t brokers < <(compose ps --format '{{.Name}}' kafka-1 kafka-2 kafka-3)
    kill_one "${brokers[RANDOM % ${#brokers[@]}]}" 10
    wait "$feeder" || fail "traffic failed"
    start --no-recreate
    settle
    echo "== reconcile"
    program reconcile --progress never
}

contract_check() {
    local file out
    for file in "$contracts"/breaking/*.avsc; do
        if out=$(compose --progress quiet run --rm --no-deps -T \
            --volume "$PWD/contracts:/contracts:ro" pipeline \
            contracts push --schema "/$file" 2>&1); then
            fail "the registry took $file"
        fi
        grep -q 'is refused' <<<"$out" || fail "$file: $out"
        echo "refused: $file"
    done
    program contracts push
}

# What is kept. State is none of it: it is made again from the brokers' logs, and a state that is
# ahead of them would be refused.
volumes=(kafka-1 kafka-2 kafka-3 clickhouse)

# A command on one volume, by the tools of the pipeline's image, as root without a network.
on_volume() {
    local volume=$1 directory=$2
    shift 2
    docker run --rm --network none --user 0:0 --volume "pipec_$volume:/volume" \
        --volume "$directory:/backup" --entrypoint "$1" "$image" "${@:2}"
}

is_there() {
    docker volume inspect "pipec_$1" >/dev/null 2>&1
}

backup() {
    local directory volume
    [ -n "${1-}" ] || fail "backup DIR: where to?"
    [ -z "$(compose ps --quiet)" ] || fail "it runs; \`stack.sh down\` first: three brokers are" \
        "one log, so they are copied at one moment"
    mkdir -p "$1"
    directory=$(cd "$1" && pwd)
    for volume in "${volumes[@]}"; do
        is_there "$volume" || fail "there is no volume pipec_$volume"
        [ ! -e "$directory/$volume.tar" ] || fail "$directory/$volume.tar is there already"
    done
    for volume in "${volumes[@]}"; do
        on_volume "$volume" "$directory" tar -C /volume -cf "/backup/$volume.tar.partial" .
        mv "$directory/$volume.tar.partial" "$directory/$volume.tar"
    done
    du -ch "$directory"/*.tar
}

restore() {
    local directory volume
    [ -n "${1-}" ] || fail "restore DIR: where from?"
    directory=$(cd "$1" && pwd)
    for volume in "${volumes[@]}"; do
        [ -s "$directory/$volume.tar" ] || fail "there is no $directory/$volume.tar"
    done
    for volume in "${volumes[@]}" state; do
        ! is_there "$volume" || fail "volume pipec_$volume is there; \`stack.sh down --volumes\`" \
            "removes what is there now"
    done
    make_secret
    compose up --no-start --no-build
    for volume in "${volumes[@]}"; do
        on_volume "$volume" "$directory" tar -C /volume --numeric-owner -xpf "/backup/$volume.tar"
    done
    echo "restored; \`stack.sh up\` starts it"
}

case ${1-} in
up | demo | settle | down | backup | restore | doctor | reconcile | contract-check | scale | \
    traffic)
    need_compose
    ;;
esac
case ${1-} in
up) up ;;
demo) demo ;;
traffic) traffic "${2:-$seconds}" ;;
settle) settle ;;
doctor) program doctor ;;
reconcile) program reconcile --progress never ;;
scale)
    [[ ${2-} =~ ^[1-9][0-9]?$ ]] || fail "scale N: how many processes?"
    compose up --detach --wait --no-build --no-recreate --scale "pipeline=$2" pipeline
    ;;
contract-check) contract_check ;;
backup) backup "${2-}" ;;
restore) restore "${2-}" ;;
down) compose --profile traffic down --timeout 30 --remove-orphans "${@:2}" ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
