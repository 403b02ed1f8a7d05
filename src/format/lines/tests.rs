use super::*;
use crate::format::SkipRule;
use crate::format::blkparse::Blkparse;
use crate::format::input::{Opened, RawReader};
use std::path::Path;

fn chunker(bytes: Vec<u8>) -> Chunker {
    let (raw, tap) = RawReader::new(Box::new(std::io::Cursor::new(bytes)));
    let opened = Opened {
        raw,
        tap,
        regular: true,
    };
    match crate::format::compress::decode(Path::new("t"), opened) {
        Ok(input) => Chunker::new(input, CHUNK, None),
        Err(e) => panic!("{e}"),
    }
}

/// All chunks through the blkparse reader, as one report.
fn report(bytes: Vec<u8>) -> (ImportReport, Vec<BlockEvent>) {
    let mut chunks = chunker(bytes);
    let mut all = ImportReport::default();
    let mut events = Vec::new();
    while let Some(chunk) = chunks.next(Vec::new()) {
        assert!(chunk.text().len() <= CHUNK + 1);
        let mut parsed = parse_chunk(&Blkparse, false, chunk, Vec::new());
        let before = all.lines;
        all.absorb(&mut parsed.report, before);
        events.append(&mut parsed.events);
    }
    assert!(all.law_holds(), "{all:?}");
    (all, events)
}

fn line(i: u64) -> String {
    format!(
        "  8,0    0 {i:8}     0.{i:09}   190  Q  WS {} + 8 [fio]",
        i * 8
    )
}

#[test]
fn chunks_end_with_lines_and_lose_nothing() {
    let text: String = (0..20_000).map(|i| line(i) + "\n").collect();
    let mut chunks = chunker(text.clone().into_bytes());
    let mut joined = Vec::new();
    let mut n = 0;
    while let Some(chunk) = chunks.next(Vec::new()) {
        assert!(chunk.text().ends_with(b"\n") && chunk.text().len() <= CHUNK);
        joined.extend_from_slice(chunk.text());
        n += 1;
    }
    assert!(n > 3 && joined == text.as_bytes());
}

#[test]
fn line_ends_of_all_kinds() {
    let text = format!("{}\r\n{}\n\r\n{}", line(1), line(2), line(3));
    let (r, events) = report(text.into_bytes());
    assert_eq!((r.lines, r.events), (4, 3));
    assert_eq!(r.skipped.get(&SkipRule::Blank), Some(&1));
    assert_eq!(events[2].line, 4);
}

#[test]
fn long_lines_are_counted_once_and_the_next_line_is_read() {
    for long in [MAX_LINE + 1, 200_000, CHUNK - 70, CHUNK, 3 * CHUNK + 17] {
        let text = format!("{}\n{}\n{}\n", line(1), "x".repeat(long), line(2));
        let (r, events) = report(text.into_bytes());
        assert_eq!((r.lines, r.events), (3, 2), "{long}");
        let d = &r.defects[&Defect::TooLong];
        assert_eq!((d.n, d.first[0].0, d.first[0].1.len()), (1, 2, 120));
        assert_eq!(events[1].sector, 16);
    }
    let (r, _) = report(format!("{}\n{}", line(1), "x".repeat(CHUNK * 2)).into_bytes());
    assert_eq!(
        (r.lines, r.defects[&Defect::TooLong].n),
        (2, 1),
        "without a line end"
    );
    let (r, _) = report(format!("{}\n", "x".repeat(MAX_LINE)).into_bytes());
    assert!(
        !r.defects.contains_key(&Defect::TooLong),
        "just short enough"
    );
}

#[test]
fn a_line_cut_by_damage_is_not_read() {
    let whole: String = (0..3000).map(|i| line(i) + "\n").collect();
    let mut packed = Vec::new();
    let mut e = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
    std::io::Write::write_all(&mut e, whole.as_bytes()).expect("a vector takes all");
    drop(e.finish());
    packed.truncate(packed.len() * 2 / 3);
    let (r, events) = report(packed);
    assert!(r.events > 1000 && r.events < 3000, "{}", r.events);
    assert!(r.defects.get(&Defect::CutLine).map_or(0, |d| d.n) <= 1);
    assert!(
        events
            .iter()
            .enumerate()
            .all(|(i, e)| e.sector == i as u64 * 8)
    );
}

#[test]
fn the_first_line_of_a_cut_file_is_damage() {
    let text = format!("{}\n{}\n", &line(7)[30..], line(8));
    let (r, _) = report(text.into_bytes());
    assert_eq!((r.events, r.defects[&Defect::CutLine].n), (1, 1));
}
