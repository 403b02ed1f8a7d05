//! blkparse's text, and whatever else it looks like.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    blkan_fuzz::check(bytes, None);
    blkan_fuzz::check(bytes, Some("blkparse"));
});
