//! Compressed streams, known by their first bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    blkan_fuzz::check(bytes, None);
});
