#!/usr/bin/env bash
# Lets the service endure: load from many connections for minutes, every result compared, the
# service killed and started again in between, memory of host and device noted, SIGTERM at the end.
#
#   endure.sh PROGRAMS BUNDLE [SECONDS [REQUESTS [OPTIONS OF THE SERVICE ...]]]
#
#   PROGRAMS   the folder of the programs `service` and `load`
#   BUNDLE     has a product of matrices by the word `gemm`
#   SECONDS    how long at least (480)
#   REQUESTS   how many products at least (1000000)
#   OPTIONS    such as --gpu 0; without them the emulator works
#
#   LOAD_OPTIONS   more options of the load generator: "-n 16 -k 32"
#
# Prints what the load generator saw as JSON, and a line of memory every ten seconds. Exit code: 0
# all results were right and the service ended well, 1 not so.
set -euo pipefail

programs=$1 bundle=$2 seconds=${3:-480} requests=${4:-1000000}
shift $(($# < 4 ? $# : 4))
address=127.0.0.1:8711
extra=${LOAD_OPTIONS:-}
home=$(mktemp -d)
service='' load=''
# shellcheck disable=SC2317,SC2329  # called by the trap
clean() {
    for pid in $service $load; do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "$home"
}
trap clean EXIT

start() {
    "$programs/service" "$bundle" --listen "$address" --eager --ptx-cache "$home/ptx" --log warn \
        "$@" >"$home/listening" &
    service=$!
    until grep -q listening "$home/listening"; do
        kill -0 "$service" || exit 1
        sleep 0.1
    done
}

# Memory of the service, and of its GPU where there is one.
note() {
    local resident device
    resident=$(sed -n 's/^VmRSS: *//p' "/proc/$1/status" 2>/dev/null || true)
    device=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader 2>/dev/null || true)
    printf 'memory: %s s: host %s, device %s\n' "$SECONDS" "${resident:-none}" \
        "$(tr '\n' ' ' <<<"${device:-none}")"
}

began=$SECONDS
start "$@"
printf 'started in %s s\n' $((SECONDS - began))
rate=$((requests / seconds + requests / seconds / 50 + 1))
# shellcheck disable=SC2086  # they are several words
"$programs/load" --service "$address" --connections 64 --requests "$requests" \
    --seconds "$seconds" --rate "$rate" $extra >"$home/seen" &
load=$!
middle=$((SECONDS + seconds / 2))
is_killed=no
while kill -0 "$load" 2>/dev/null; do
    note "$service"
    if [ $is_killed = no ] && [ $SECONDS -ge $middle ]; then
        is_killed=yes
        kill -9 "$service"
        wait "$service" 2>/dev/null || true
        printf 'killed at %s s\n' "$SECONDS"
        began=$SECONDS
        start "$@"
        printf 'started again in %s s\n' $((SECONDS - began))
    fi
    sleep $((seconds < 100 ? 1 : 10))
done
code=0
wait "$load" || code=1
load=''
cat "$home/seen"
if exec 3<>"/dev/tcp/${address%:*}/${address#*:}"; then
    printf 'GET /metrics HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n' "$address" >&3
    grep -E '(launches|loads|load_nano|first_launch|fallbacks|skipped|lost)' <&3 |
        grep -v '^#' || true
fi
kill -TERM "$service"
wait "$service" || code=1
service=''
[ $is_killed = yes ] || code=1
printf 'ended with %s\n' "$code"
exit "$code"
