//! Events in any order, as no recorder would write them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    blkan_fuzz::check_events(bytes);
});
