use super::*;
use crate::format::Defect;
use crate::format::{FormatInfo, Line, LineCtx, Order, Sniff};
use std::io::Write;
use std::sync::atomic::AtomicUsize;

fn line(cpu: u32, seq: u64, ns: u64, comm: &str) -> String {
    format!(
        "  8,0 {cpu:4} {seq:8} {:5}.{:09} {:5}  Q  WS {} + 8 [{comm}]\n",
        ns / 1_000_000_000,
        ns % 1_000_000_000,
        100 + cpu,
        seq * 8
    )
}

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(data).expect("a vector takes all");
    e.finish().expect("a vector takes all")
}

fn options(threads: usize) -> ReadOptions {
    ReadOptions {
        threads,
        ..ReadOptions::default()
    }
}

type All = (Vec<BlockEvent>, Vec<Box<[u8]>>, Vec<ImportReport>);

fn read(paths: &[PathBuf], o: &ReadOptions) -> Result<All> {
    let mut trace = Trace::open(paths, o)?;
    let mut all = Vec::new();
    let mut batch = Vec::new();
    loop {
        batch.clear();
        if !trace.next_batch(&mut batch)? {
            break;
        }
        assert!(!batch.is_empty());
        all.extend_from_slice(&batch);
    }
    let reports = trace.reports();
    assert!(reports.iter().all(ImportReport::law_holds));
    Ok((all, trace.meta().comms.names().to_vec(), reports))
}

fn error(paths: &[PathBuf], o: &ReadOptions) -> Error {
    match read(paths, o) {
        Ok(_) => panic!("expected a refusal"),
        Err(e) => e,
    }
}

/// A few chunks with names that first appear in different ones.
fn big_text() -> String {
    let mut text = String::from("# made up\n");
    for i in 0..40_000u64 {
        text.push_str(&line(
            (i % 4) as u32,
            i,
            i * 1000,
            &format!("t{}", (i / 3000) % 9),
        ));
        if i % 777 == 0 {
            text.push_str("some prose\n");
        }
    }
    text
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = file(&dir, "t.gz", &gzip(big_text().as_bytes()));
    let one = read(std::slice::from_ref(&path), &options(1)).expect("readable");
    assert_eq!(one.0.len(), 40_000);
    assert_eq!(one.1[0], (*b"t0").into());
    for threads in [0, 2, 3, 5] {
        let many = read(std::slice::from_ref(&path), &options(threads)).expect("readable");
        assert!(one.0 == many.0 && one.1 == many.1, "{threads} threads");
        assert_eq!(format!("{:?}", one.2), format!("{:?}", many.2));
    }
    let text = big_text();
    let lines: Vec<&str> = text.lines().collect();
    let e = one.0[30_000];
    assert!(
        lines[e.line as usize - 1].contains(&format!(" {} + 8 ", e.sector)),
        "line {}",
        e.line
    );
}

#[test]
fn a_reader_dropped_early_leaves_no_thread() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = file(&dir, "t", big_text().repeat(5).as_bytes());
    let seen = Arc::new(AtomicUsize::new(0));
    let watched = Arc::clone(&seen);
    let o = ReadOptions {
        threads: 4,
        progress: Some(Arc::new(move |_| {
            watched.fetch_add(1, Ordering::Relaxed);
        })),
        ..ReadOptions::default()
    };
    let mut trace = Trace::open(&[path], &o).expect("readable");
    trace.next_batch(&mut Vec::new()).expect("readable");
    drop(trace);
    drop(o);
    assert_eq!(
        Arc::strong_count(&seen),
        1,
        "the threads that held the callback have ended"
    );
}

#[test]
fn several_inputs_are_merged_by_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let part = |cpu: u32| -> String {
        (0..9000u64)
            .map(|i| {
                line(
                    cpu,
                    i,
                    i * 3000 + u64::from(cpu) * 1000,
                    &format!("cpu{cpu}"),
                )
            })
            .collect()
    };
    let paths: Vec<PathBuf> = (0..3)
        .map(|c| file(&dir, &format!("p{c}"), part(c).as_bytes()))
        .collect();
    let one = read(&paths, &options(1)).expect("readable");
    assert_eq!(one.0.len(), 27_000);
    assert!(one.0.is_sorted_by_key(|e| e.time));
    assert!(
        one.0
            .iter()
            .enumerate()
            .all(|(i, e)| usize::from(e.cpu) == i % 3)
    );
    assert_eq!(one.2.len(), 3);
    for threads in [2, 8] {
        let many = read(&paths, &options(threads)).expect("readable");
        assert!(one.0 == many.0 && one.1 == many.1);
    }
}

#[test]
fn a_truncated_file_gives_its_events_and_a_count() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut packed = gzip(big_text().as_bytes());
    packed.truncate(packed.len() / 2);
    let path = file(&dir, "t.gz", &packed);
    for threads in [1, 2] {
        let (events, _, reports) =
            read(std::slice::from_ref(&path), &options(threads)).expect("readable");
        assert!(events.len() > 5000);
        let d = &reports[0].defects[&Defect::TruncatedStream];
        assert_eq!((d.n, d.first[0].0), (1, 0));
        assert!(
            d.first[0].1.contains(&format!("byte {}", packed.len())),
            "{d:?}"
        );
        assert!(reports[0].damaged());
    }
}

#[test]
fn refusals_say_what_was_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let long = file(&dir, "long.gz", &gzip(&vec![b'x'; 100 << 20]));
    for (path, word) in [
        (file(&dir, "empty", b""), "empty"),
        (file(&dir, "empty.gz", &gzip(b"")), "empty"),
        (file(&dir, "junk", &[7u8, 0, 1, 2].repeat(5000)), "binary"),
        (file(&dir, "mail", b"Hello,\nno trace here.\n"), "Hello"),
        (
            file(&dir, "cut.gz", &gzip(b"some text")[..12]),
            "ends early",
        ),
        (long.clone(), "longer than 64 KiB"),
        (dir.path().to_path_buf(), "directory"),
        (dir.path().join("none"), "cannot open"),
    ] {
        let e = error(&[path], &options(2));
        let text = e.to_string();
        assert!(text.contains(word) && text.contains("hint:"), "{text}");
        assert_eq!(e.exit_code(), 1);
    }
    let named = ReadOptions {
        format: Some("blkparse".into()),
        ..options(2)
    };
    let text = error(&[long], &named).to_string();
    assert!(
        text.contains("not one event in 1 line") && text.contains("line_too_long"),
        "{text}"
    );
    let mail = file(&dir, "mail2", b"Hello,\nno trace here.\n");
    let text = error(&[mail], &named).to_string();
    assert!(
        text.contains("in 2 lines") && text.contains("'Hello,'"),
        "{text}"
    );
}

#[test]
fn usage_errors_come_before_reading() {
    let stdin = PathBuf::from("-");
    assert_eq!(error(&[], &options(1)).exit_code(), 2);
    assert_eq!(error(&[stdin.clone(), stdin], &options(1)).exit_code(), 2);
    let o = ReadOptions {
        format: Some("blktrace3".into()),
        ..options(1)
    };
    assert_eq!(error(&["none".into()], &o).exit_code(), 2);
}

/// `TIME` a line, sorted per CPU only.
struct Times(FormatInfo);

impl LineFormat for Times {
    fn info(&self) -> &FormatInfo {
        &self.0
    }
    fn sniff(&self, _: &[u8]) -> Sniff {
        Sniff::No
    }
    fn parse_line(&self, line: &[u8], _: &mut LineCtx) -> Line {
        let text = std::str::from_utf8(line).unwrap_or_default();
        match text.parse::<i64>() {
            Ok(t) => Line::Event(BlockEvent::new(
                Nanos(t),
                crate::event::DevId::NONE,
                crate::event::Action::Queue,
            )),
            Err(_) if text == "lost" => Line::Lost(3),
            Err(_) => Line::Defect(Defect::NotAnEvent),
        }
    }
    fn tells_losses(&self, _head: &[u8]) -> bool {
        true
    }
}

#[test]
fn a_custom_format_is_used_sorted_and_its_losses_counted() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut text = String::new();
    for block in 0..100 {
        for cpu in 0..2 {
            text.extend((0..500).map(|i| format!("{}\n", (block * 500 + i) * 2 + cpu)));
        }
    }
    text.push_str("lost\n");
    let path = file(&dir, "t", text.as_bytes());
    for serial in [false, true] {
        let info = FormatInfo {
            name: "times",
            aliases: &[],
            title: "times",
            fields: Fields::BLKTRACE,
            order: Order::PerCpu,
            record: "",
            serial,
        };
        let o = ReadOptions {
            custom: Some(Arc::new(Times(info))),
            ..options(3)
        };
        let (events, _, reports) = read(std::slice::from_ref(&path), &o).expect("readable");
        assert!(
            events
                .iter()
                .enumerate()
                .all(|(i, e)| e.time == Nanos(i as i64))
        );
        assert_eq!(events.len(), 100_000);
        assert_eq!(
            (reports[0].lost_events, reports[0].late_events),
            (Some(3), 0)
        );
        assert_eq!(reports[0].defects[&Defect::Lost].n, 1);
    }
}

#[test]
fn a_trace_behind_a_long_banner_is_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let events: String = (0..500).map(|i| line(0, i, i * 1000, "dd")).collect();
    let banner = "#a line of the banner\n".repeat(5000);
    let other = " dd-1 [000] d..1. 1.500000: sched_wakeup: comm=dd pid=1 prio=120\n".repeat(2000);
    let ftrace = " dd-1 [000] d..1. 1.500000: block_rq_issue: 8,0 W 4096 () 8 + 8 [dd]\n";
    let prose = "and so it went on, line by line.\n".repeat(2100);
    for (text, n) in [
        (format!("{banner}{events}"), 500),
        (format!("{other}{ftrace}"), 1),
        // The first 64 KiB of the last hold one event among 2000 lines.
        (format!("{prose}{events}"), 500),
        (format!("{}{prose}{events}", line(0, 0, 0, "dd")), 501),
    ] {
        assert!(
            text.find(&line(0, 9, 9000, "dd"))
                .is_none_or(|at| at > detect::HEAD)
        );
        let path = file(&dir, "t", text.as_bytes());
        assert_eq!(read(&[path], &options(2)).expect("readable").0.len(), n);
    }
    let far = format!("{}{}", line(0, 0, 0, "dd"), prose.repeat(20));
    let said = error(&[file(&dir, "t", far.as_bytes())], &options(2)).to_string();
    assert!(said.contains("1 line of the first 31,"), "{said}");
    assert!(said.contains("--format blkparse"), "{said}");
}

#[test]
fn names_wrapped_off_their_lines_are_joined_wherever_chunks_end() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text: String = (0..20_000u64)
        .map(|i| line(0, i, i * 1000, &format!("t{}", i % 7)).replace(" [", " \n["))
        .collect();
    let path = file(&dir, "t", text.as_bytes());
    for threads in [1, 3] {
        let (events, names, reports) =
            read(std::slice::from_ref(&path), &options(threads)).expect("readable");
        assert_eq!((events.len(), reports[0].skipped_lines()), (20_000, 20_000));
        let name = |e: &BlockEvent| &*names[usize::from(e.comm.0)];
        assert!(
            (0u64..)
                .zip(&events)
                .all(|(i, e)| name(e) == format!("t{}", i % 7).as_bytes())
        );
    }
}
