//! Lines of tracepoints: the first byte says whose.
#![no_main]

const FORMATS: [&str; 5] = ["bpftrace", "bcc-trace", "ftrace", "blk-tracer", "perf-script"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((which, rest)) = bytes.split_first() {
        blkan_fuzz::check(rest, FORMATS.get(usize::from(*which)).copied());
    }
});
