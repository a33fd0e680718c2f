#!/usr/bin/env bash
# Besets the service with clients that stall, looks at what it costs, and tells it to end beside
# them: half heads, half bodies of gigabytes together, products of honest clients in between.
#
#   besiege.sh PROGRAMS BUNDLE [OPTIONS OF THE SERVICE ...]
#
#   PROGRAMS   the folder of the programs `service` and `load`
#   BUNDLE     has a product of matrices of f32 by the word `gemm`
#
# From the repository's root, in seconds:
#
#   cargo build --release --manifest-path runtime/examples/service/Cargo.toml
#   tilewright build specs/gemm/simt_f32.yaml --output gemm.bundle
#   runtime/examples/service/besiege.sh runtime/examples/service/target/release gemm.bundle
#
# A test of ci/tests/service runs it with fewer clients:
#
#   cargo test --package tilewright-ci --test service -- besets
#
#   HEADS      clients that send half a head (100)
#   BODIES     clients that send part of a body (40)
#   BODY_MIB   how much of it, of 64 MiB (50)
#
# Exit code: 0 honest clients had right products beside every half head and some body, the memory
# stayed within what bodies may hold and 128 MiB, and the service ended well within ten seconds; 1
# not so.
set -euo pipefail

programs=$1 bundle=$2
shift 2
heads=${HEADS:-100} bodies=${BODIES:-40} body_mib=${BODY_MIB:-50}
held_mib=256 most_mib=$((256 + 128))
home=$(mktemp -d)
service='' clients=()
# shellcheck disable=SC2317,SC2329  # called by the trap
clean() {
    for pid in $service "${clients[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "$home"
}
trap clean EXIT

"$programs/service" "$bundle" --listen 127.0.0.1:0 --log warn --held-bytes $((held_mib << 20)) \
    --time-limit-ms 3600000 "$@" >"$home/listening" &
service=$!
until grep -q listening "$home/listening"; do
    kill -0 "$service" || exit 1
    sleep 0.1
done
address=$(sed 's/listening on //' "$home/listening")
connect="/dev/tcp/${address%:*}/${address#*:}"

memory() { awk -v line="$1:" '$1 == line { print int($2 / 1024) }' "/proc/$service/status"; }
at_start=$(memory VmRSS)

head='PUT /v1/weights/stalled HTTP/1.1\r\nhost: stalled\r\n'
shape='x-function: %s\r\nx-rows: 4096\r\nx-columns: 4096\r\nx-dtype: f32\r\n'
exec 3<>"$connect"
printf 'GET /v1/function HTTP/1.1\r\nhost: besieged\r\nconnection: close\r\n\r\n' >&3
functions=$(tail -n 1 <&3)
function=$(grep -o '{[^{}]*"a":"f32"[^{}]*}' <<<"$functions" |
    sed -n 's/.*"name":"\([^"]*\)".*/\1/p' | head -n 1)

# Each stays as long as the service lets it, and is gone when it was let go.
for ((at = 0; at < heads; at++)); do
    (
        exec 4<>"$connect"
        # shellcheck disable=SC2059  # the text has escapes
        printf "$head" >&4
        cat <&4 >/dev/null
    ) &
    clients+=($!)
done
for ((at = 0; at < bodies; at++)); do
    (
        trap '' PIPE
        exec 4<>"$connect"
        # shellcheck disable=SC2059
        printf "$head$shape"'content-length: 67108864\r\n\r\n' "$function" >&4
        head -c $((body_mib << 20)) /dev/zero >&4 2>/dev/null || true
        cat <&4 >/dev/null 2>&1 || true
    ) &
    clients+=($!)
done

code=0
"$programs/load" --service "$address" --function "$function" --connections 4 --requests 200 \
    -n 16 -k 32 >"$home/seen" || code=1
sed 's/"latency_us".*//' "$home/seen"
stalled=0
for pid in "${clients[@]}"; do ! kill -0 "$pid" 2>/dev/null || stalled=$((stalled + 1)); done
peak=$(memory VmHWM)
told='%s stalled clients of %s; %s MiB of bodies to send; memory %s MiB, at the start %s, peak %s\n'
# shellcheck disable=SC2059  # the format is the line above
printf "$told" \
    "$stalled" $((heads + bodies)) $((bodies * body_mib)) "$(memory VmRSS)" "$at_start" "$peak"
# Beside every half head stand the bodies that there is room for.
[ "$stalled" -gt "$heads" ] && [ "$peak" -le "$most_mib" ] || code=1

began=$SECONDS
kill -TERM "$service"
ended=0
wait "$service" || ended=$?
service=''
printf 'told to end: exit code %s after %s s\n' "$ended" $((SECONDS - began))
[ "$ended" = 0 ] && [ $((SECONDS - began)) -le 10 ] || code=1
exit "$code"
