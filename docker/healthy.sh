#!/bin/bash
# Health checks of the stack, for containers that have bash and little else.
#   healthy.sh http PORT PATH     a GET is answered with 200
#   healthy.sh kafka PORT         a broker answers a request: it has joined and serves clients
#   healthy.sh metric PORT NAME   prints the sum of a metric over its labels
# Exit 0 healthy, 1 not. Nothing here starts a JVM: that would cost a broker's memory again.
set -eu
port=$2
exec 3<>"/dev/tcp/127.0.0.1/$port"

ask() {
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
    read -r -t 3 -u 3 _ status _
    [ "$status" = 200 ]
}

case $1 in
http)
    ask "$3"
    ;;
metric)
    ask /metrics
    awk -v name="$3" '{ sub(/\r$/, "") }
        $1 == name || index($1, name "{") == 1 { sum += $NF; found = 1 }
        END { if (!found) exit 1; printf "%.0f\n", sum }' <&3
    ;;
kafka)
    # ApiVersions, version 0, correlation id 7, no client id. The answer: length, id, error code 0.
    printf '\0\0\0\12\0\22\0\0\0\0\0\7\377\377' >&3
    answer=$(timeout 3 head -c 10 <&3 | od -An -tx1 | tr -d ' \n')
    [ "${answer:8}" = 000000070000 ]
    ;;
*)
    echo "healthy.sh: http, metric or kafka, not '$1'" >&2
    exit 1
    ;;
esac
