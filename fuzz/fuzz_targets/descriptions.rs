//! Descriptions themselves: a template, a script, a format of blkparse's, a snapshot of queue settings; the first byte says
//! which. They are refused or understood, and what is understood reads a line.
#![no_main]

use blkan::format::{parse_queue, template};
use std::path::Path;
use std::sync::Arc;

const LINE: &[u8] = b"19503812813 0 179 block_getrq 259,0 0 4 WS - dd\n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let one = [text.to_string()];
    let name = Path::new("x");
    let by = match which % 4 {
        0 => template::compile(&one),
        1 => template::from_script(text, name),
        2 => template::from_blkparse_formats(&one),
        _ => return drop(parse_queue(name, text)),
    };
    if let Ok(by) = by {
        blkan_fuzz::check_by(LINE, Arc::new(by));
    }
});
