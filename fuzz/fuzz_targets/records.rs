//! Binary records of blktrace.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    blkan_fuzz::check(bytes, Some("blktrace"));
});
