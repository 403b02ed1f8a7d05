#!/bin/bash
# Runs every fuzz target for some seconds, on inputs made from the fixtures: fuzz/run.sh SECONDS [TARGET...]
# A crash is left in fuzz/artifacts/TARGET; once fixed, it belongs into fixtures/hostile/.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
if ! command -v cargo-fuzz >/dev/null && ! [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-fuzz" ]; then
    echo "SKIPPED: cargo-fuzz is not installed (cargo install cargo-fuzz)"
    exit 0
fi
if ! rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    echo "SKIPPED: there is no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi

# seed TARGET NAME [FIRST_BYTE]: stdin becomes an input, behind the byte that says which format it is.
seed() {
    mkdir -p "fuzz/corpus/$1"
    { [ -z "${3:-}" ] || printf "$3"; cat; } >"fuzz/corpus/$1/seed-$2"
}
# The first lines of a packed fixture, small enough to be tried often.
head_of() { gzip -dc "fixtures/$1" | sed -n "1,${2:-20}p"; }

for f in fixtures/blkparse/hard-*/trace.txt; do
    seed text "$(basename "$(dirname "$f")")" <"$f"
done
for f in fixtures/hostile/*.txt; do
    head -c 4000 "$f" | seed text "hostile-$(basename "$f")"
done
{ head_of same-run/hello-perf/blkparse.txt.gz 20; gzip -dc fixtures/same-run/hello-perf/blkparse.txt.gz | tail -n 30; } |
    seed text summary
head_of same-run/hello-perf/bpf.log.gz | seed tracepoints bpftrace '\000'
head_of same-run/k61-bcctrace/bcctrace.log.gz | seed tracepoints bcc-trace '\001'
head_of same-run/hello-perf/ftrace.txt.gz | seed tracepoints ftrace '\002'
printf '  8,0    1     0.000000000   194  Q   R 8 + 8 [dd]\n' | seed tracepoints blk-tracer '\003'
head_of same-run/hello-perf/perf.txt.gz | seed tracepoints perf-script '\004'
for f in fixtures/biosnoop/*/trace.txt; do
    seed rows "$(basename "$(dirname "$f")")" '\000' <"$f"
done
printf '# blkan events 1: pid cpu comm error clock sizes letters step=1\n    0.000000000 8,0 0 1 Q   R 8 4096 0 - dd\n    0.000001000 8,0 0 1 A   W 8 4096 0 <-8,1:2048 dd\n# device 8,0 sda\n# lost 3\n' |
    seed rows canonical '\001'
head_of same-run/hello-perf/bpf.log.gz | seed described line '\000'
head_of same-run/hello-perf/bpf.log.gz | seed described bt '\001'
head_of blkparse-format/hello-all.txt.gz | seed described blkparse-format '\002'
printf '{ns} {cpu} {pid} {event} {dev} {sector} {nr} {rwbs} {skip} {comm}' | seed descriptions line '\000'
grep -v '^ \*' recorder/blkan.bt | head -8 | seed descriptions bt '\001'
printf '%%D %%2c %%8s %%5T.%%9t %%5p %%2a %%3d %%12S + %%-8N [%%C] %%e\\n' | seed descriptions blkparse-format '\002'
printf '/sys/block/sda/dev:8:0\n/sys/block/sda/size:2048\n/sys/block/sda/queue/scheduler:[none] bfq\n' | seed descriptions queue '\003'
for n in 0 1; do
    gzip -dc "fixtures/blktrace/hello-perf/nvme0n1.blktrace.$n.gz" | head -c 4000 | seed records "cpu-$n"
done
for f in fixtures/hostile/*.gz fixtures/hostile/*.xz fixtures/hostile/*.zst fixtures/hostile/*.bz2; do
    seed packed "$(basename "$f")" <"$f"
done
for t in tracker writers; do
    gzip -dc fixtures/blktrace/hello-perf/nvme0n1.blktrace.0.gz | head -c 1500 | seed "$t" bytes
done

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"/\1/p' fuzz/Cargo.toml)
failed=0
for t in "${targets[@]}"; do
    echo "== $t, $seconds s"
    cargo +nightly fuzz run --fuzz-dir fuzz "$t" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -print_final_stats=1 -verbosity=1 || failed=1
done
exit $failed
