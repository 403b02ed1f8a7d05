//! Lines by description: a template, a script, a format of blkparse's; the first byte says which.
#![no_main]

use blkan::format::{LineFormat, template};
use std::path::Path;
use std::sync::{Arc, LazyLock};

static BY: LazyLock<[Arc<dyn LineFormat>; 3]> = LazyLock::new(|| {
    let line = "{ns} {cpu} {pid} {event} {dev} {sector} {nr} {rwbs} {skip} {comm}";
    let script = include_str!("../../recorder/blkan.bt");
    let format = r"%D %2c %8s %5T.%9t %5p %2a %3d %12S + %-8N [%C] %e %U %P\n";
    [
        Arc::new(template::compile(&[line.to_string()]).expect("a template")),
        Arc::new(template::from_script(script, Path::new("blkan.bt")).expect("a script")),
        Arc::new(template::from_blkparse_formats(&[format.to_string()]).expect("a format")),
    ]
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((which, rest)) = bytes.split_first() {
        blkan_fuzz::check_by(rest, Arc::clone(&BY[usize::from(*which) % BY.len()]));
    }
});
