//! Formats with a head line: the first byte says which.
#![no_main]

const FORMATS: [&str; 2] = ["biosnoop", "canonical"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((which, rest)) = bytes.split_first() {
        blkan_fuzz::check(rest, FORMATS.get(usize::from(*which)).copied());
    }
});
