#!/bin/bash
# Wall time of `blkan stats FILE` beside `gzip -dc FILE > /dev/null`, run in turn so that both see the same machine.
# Prints both medians, their ratio, and the peak memory of blkan.
#   benches/whole.sh FILE [ROUNDS]
set -euo pipefail
file=$1
rounds=${2:-9}
blkan=$(dirname "$0")/../target/release/blkan
now() { date +%s%N; }
ours=() theirs=()
cat "$file" > /dev/null
for _ in $(seq "$rounds"); do
    a=$(now)
    "$blkan" stats -q "$file" > /dev/null
    b=$(now)
    gzip -dc "$file" > /dev/null
    c=$(now)
    ours+=($(((b - a) / 1000))) theirs+=($(((c - b) / 1000)))
done
median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }
o=$(median "${ours[@]}") t=$(median "${theirs[@]}")
echo "blkan stats  $((o / 1000)) ms (median of $rounds)"
echo "gzip -dc     $((t / 1000)) ms"
awk -v o="$o" -v t="$t" 'BEGIN { printf "ratio        %.2f\n", o / t }'
# The kernel's own record of the largest resident set; needs no tool beside the shell.
"$blkan" stats -q "$file" > /dev/null &
pid=$! peak=0
while kill -0 "$pid" 2> /dev/null; do
    hwm=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2> /dev/null || true)
    [ "${hwm:-0}" -gt "$peak" ] && peak=$hwm
    sleep 0.005
done
wait "$pid"
echo "peak memory  $((peak / 1024)) MiB"
