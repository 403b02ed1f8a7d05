//! Rows as Parquet and Arrow files: how they are asked for, and (with the feature) where they go. What is in them is
//! `tables_read.rs`'s.

use super::support::{Differences, root, run};
use blkan::event::BlockEvent;
use blkan::frame::Record;
use blkan::lifecycle::{Bio, Request};
use std::fs;

const TRACE: &str = "fixtures/same-run/hello-perf/blkparse.txt.gz";

#[test]
fn the_page_lists_the_columns() {
    let mut d = Differences::default();
    page_lists::<BlockEvent>("events", &mut d);
    page_lists::<Request>("requests", &mut d);
    page_lists::<Bio>("bios", &mut d);
    d.done();
}

/// `docs/output-rows.md` has a section of the command, with a row for every column, in order, with its type and unit.
fn page_lists<T: Record>(command: &str, d: &mut Differences) {
    let page = fs::read_to_string(root().join("docs/output-rows.md")).expect("docs/output-rows.md");
    let head = format!("## Columns of `{command}`");
    let section = page.split_once(&head).map(|s| s.1).unwrap_or_default();
    let section = section.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter(|l| l.starts_with("| `"));
    let listed: Vec<[String; 3]> = rows
        .map(|l| {
            let mut cells = l.split('|').map(|c| c.trim().trim_matches('`').to_string());
            cells.next();
            [
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
            ]
        })
        .collect();
    let want: Vec<[String; 3]> = T::COLUMNS
        .iter()
        .map(|c| [c.name, c.type_name(), c.unit].map(str::to_string))
        .collect();
    d.check(listed == want, || {
        format!("docs/output-rows.md, {command}:\nlisted {listed:?}\nwanted {want:?}")
    });
}

#[test]
fn one_form_at_a_time() {
    for flags in [
        &["--parquet", "--arrow"][..],
        &["--parquet", "--csv"],
        &["--arrow", "--json"],
    ] {
        let mut args = vec!["requests", TRACE];
        args.extend(flags);
        let r = run(&args);
        assert_eq!((r.code, r.out.len()), (Some(2), 0), "{flags:?}: {}", r.err);
        assert!(
            r.err.contains("cannot be used with"),
            "{flags:?}: {}",
            r.err
        );
    }
    let r = run(&["stats", "--parquet", TRACE]);
    assert_eq!(r.code, Some(2), "stats has no rows");
}

#[test]
fn a_flag_counts_more_than_the_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("rows.parquet");
    for (flag, command) in [("--csv", "requests"), ("--json", "bios")] {
        let r = run(&[command, flag, "-q", "-o", &file.to_string_lossy(), TRACE]);
        assert_eq!(r.code, Some(0), "{flag}: {}", r.err);
        assert_eq!(
            fs::read(&file).expect("the file"),
            run(&[command, flag, "-q", TRACE]).out
        );
    }
}

#[cfg(not(feature = "tables"))]
#[test]
fn a_build_without_tables_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("rows.feather");
    let name = file.to_string_lossy();
    for args in [
        &["events", "--parquet", TRACE][..],
        &["bios", "--arrow", TRACE],
        &["requests", "-o", &name, TRACE],
        &["requests", "--parquet", "no-such-trace"],
        &[
            "requests",
            "-o",
            "no-such-dir/",
            "--partition",
            "dev",
            TRACE,
        ],
        &["sql", "select 1 from bios", TRACE],
    ] {
        let r = run(args);
        assert_eq!((r.code, r.out.len()), (Some(2), 0), "{args:?}: {}", r.err);
        let what = "this build has no tables: cargo build --release (feature \"tables\")";
        assert!(r.err.contains(what), "{args:?}: {}", r.err);
    }
    assert!(!file.exists());
}

#[cfg(feature = "tables")]
mod with_tables {
    use super::*;
    use std::path::Path;

    /// The magic bytes at both ends of a file.
    fn is(bytes: &[u8], magic: &[u8]) -> bool {
        bytes.len() > 100 && bytes.starts_with(magic) && bytes.ends_with(magic)
    }

    fn to_file(command: &str, flags: &[&str], file: &Path) -> Vec<u8> {
        let name = file.to_string_lossy();
        let mut args = vec![command, "-q", "-o", &name, TRACE];
        args.extend(flags);
        let r = run(&args);
        assert_eq!((r.code, r.out.len()), (Some(0), 0), "{args:?}: {}", r.err);
        fs::read(file).expect("the file")
    }

    #[test]
    fn names_and_flags_give_the_same_file() {
        let dir = tempfile::tempdir().expect("a directory");
        for command in ["events", "requests", "bios"] {
            let piped = run(&[command, "-q", "--parquet", TRACE]).out;
            assert!(is(&piped, b"PAR1"), "{command}");
            let named = to_file(command, &[], &dir.path().join("t.parquet"));
            assert_eq!(named, piped, "{command}");
            let forced = to_file(command, &["--parquet"], &dir.path().join("t.bin"));
            assert_eq!(forced, piped, "{command}");
            let piped = run(&[command, "-q", "--arrow", TRACE]).out;
            assert!(is(&piped, b"ARROW1"), "{command}");
            for name in ["t.arrow", "t.ipc", "t.FEATHER"] {
                let named = to_file(command, &[], &dir.path().join(name));
                assert_eq!(named, piped, "{command} {name}");
            }
            let forced = to_file(command, &["--arrow"], &dir.path().join("t.parquet"));
            assert_eq!(forced, piped, "{command}: the flag counts");
        }
    }

    #[test]
    fn tables_do_not_depend_on_threads() {
        for form in ["--parquet", "--arrow"] {
            let of = |n: &str| {
                let trace = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
                let r = run(&["requests", "-q", form, "--threads", n, trace]);
                assert_eq!(r.code, Some(0), "{}", r.err);
                r.out
            };
            let one = of("1");
            assert!(one == of("2") && one == of("3"), "{form}");
        }
    }

    #[test]
    fn a_refused_trace_leaves_the_file_of_an_earlier_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("t.parquet");
        let before = to_file("requests", &[], &file);
        let name = file.to_string_lossy();
        let r = run(&["requests", "-o", &name, "fixtures/hostile/prose.txt"]);
        assert_eq!(r.code, Some(1), "{}", r.err);
        assert_eq!(fs::read(&file).expect("the file"), before);
        let r = run(&["requests", "-o", "/no/such/directory/t.parquet", TRACE]);
        assert_eq!(r.code, Some(1), "{}", r.err);
        assert!(r.err.contains("/no/such/directory/t.parquet"), "{}", r.err);
    }

    #[test]
    fn damage_is_told_and_the_table_is_whole() {
        let r = run(&[
            "events",
            "--parquet",
            "--strict",
            "fixtures/hostile/truncated.gz",
        ]);
        assert_eq!(r.code, Some(3), "{}", r.err);
        assert!(is(&r.out, b"PAR1") && !r.err.is_empty());
    }
}
