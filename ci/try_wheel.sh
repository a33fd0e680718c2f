#!/usr/bin/env bash
# Shows that a wheel is all that somebody needs: in an empty Debian with Python and nothing else (no
# LLVM, no compiler, no Rust), installs it, and makes, builds and verifies a first kernel.
#
#   ci/try_wheel.sh WHEEL             as root, in a system of its own below target/, by debootstrap
#   ci/try_wheel.sh WHEEL FOLDER      in the system that lies in FOLDER already
#
# Prints what each step takes, and fails where the three commands of a first kernel take more than
# twenty seconds. `pip` fetches ptxas from the package index; DEBIAN names another mirror.
set -euo pipefail
wheel=$(realpath "${1:?ci/try_wheel.sh WHEEL [FOLDER]}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
system=${2:-$PWD/target/wheel-system}
most_seconds=20

if [ ! -x "$system/usr/bin/python3" ]; then
    rm -rf "$system"
    debootstrap --variant=minbase --include=python3-venv,ca-certificates trixie "$system" \
        "${DEBIAN:-http://deb.debian.org/debian}" >/dev/null
fi
rm -rf "$system/try"
mkdir "$system/try"
cp "$wheel" "$system/try/"
# What pip is configured to here, it is there.
for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$system$file"
done
inside() {
    unshare --mount --pid --fork --mount-proc="$system/proc" \
        chroot "$system" /usr/bin/env -C /try "$@"
}
timed() { # timed NAME COMMAND...
    local name=$1 begun=${EPOCHREALTIME/./}
    shift
    "$@" >"$system/try/said.txt" 2>&1 || {
        cat "$system/try/said.txt" >&2
        printf 'error: %s failed\n' "$name" >&2
        exit 1
    }
    took=$((${EPOCHREALTIME/./} - begun))
    printf '%-24s %3d.%02d s\n' "$name" $((took / 1000000)) $((took / 10000 % 100))
}
tools='command -v cc || command -v cargo || command -v llvm-config || command -v ptxas'
if inside sh -c "$tools"; then
    echo "error: $system is not empty" >&2
    exit 2
fi
inside python3 -m venv /try/env
timed "pip install" inside env/bin/pip install --disable-pip-version-check ./"$(basename "$wheel")"
all=0
timed "tilewright init rmsnorm" inside env/bin/tilewright init rmsnorm -o my.yaml
all=$((all + took))
timed "tilewright build" inside env/bin/tilewright build my.yaml -o my.zip
all=$((all + took))
if grep -q "no kernel was judged" "$system/try/said.txt"; then
    echo "error: the command did not find the ptxas that pip installed" >&2
    exit 1
fi
timed "tilewright verify" inside env/bin/tilewright verify my.zip
all=$((all + took))
timed "python: import, open" inside env/bin/python -c \
    'import tilewright; print(tilewright.open("my.zip", device="emulator"))'
timed "python -m tilewright" inside env/bin/python -m tilewright --includes --libs --cmake-dir
[ "$all" -le $((most_seconds * 1000000)) ] || {
    printf 'error: a first kernel took %d us, more than %d s\n' "$all" "$most_seconds" >&2
    exit 1
}
du -h "$wheel" | awk '{ print "the wheel has " $1 }'
