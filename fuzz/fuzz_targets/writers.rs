//! What is written reads back as it was.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    blkan_fuzz::check_writers(bytes);
});
