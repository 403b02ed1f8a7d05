//! Tables read back by polars.

use super::{Column, FileKind, Get, Query, Record, Table, Value, values};
use crate::event::{Action, BlockEvent, CommId, DevId, Fields, Rwbs};
use crate::lifecycle::{Bio, BioFate, MergeKind, Outcome, Pairing, Request, RequestKind, Stamp};
use crate::units::Nanos;
use polars::prelude::{AnyValue, DataFrame};
use polars_io::SerReader;
use polars_io::ipc::IpcReader;
use polars_io::parquet::read::ParquetReader;
use std::io::Cursor;

const KINDS: [FileKind; 2] = [FileKind::Parquet, FileKind::Arrow];

fn read(kind: FileKind, bytes: &[u8]) -> DataFrame {
    let at = Cursor::new(bytes.to_vec());
    match kind {
        FileKind::Parquet => ParquetReader::new(at).finish().unwrap(),
        FileKind::Arrow => IpcReader::new(at).finish().unwrap(),
    }
}

fn written<T: Record>(kind: FileKind, group: usize, rows: &[(T, Option<&str>)]) -> Vec<u8> {
    let mut table = Table::with_groups(kind, &[], group).unwrap();
    let mut out = Vec::new();
    for (r, comm) in rows {
        table.push(r, *comm, &Fields::BLKTRACE, &mut out).unwrap();
    }
    table.finish(&mut out).unwrap();
    out
}

/// Cells as a reader without blkan's column list would see them.
fn cell<'a>(v: &'a AnyValue<'a>) -> Value<'a> {
    match v {
        AnyValue::Null => Value::Absent,
        AnyValue::Boolean(b) => Value::Bool(*b),
        AnyValue::UInt32(n) => Value::Uint((*n).into()),
        AnyValue::UInt64(n) => Value::Uint(*n),
        AnyValue::Int32(n) => Value::Int((*n).into()),
        AnyValue::Int64(n) => Value::Int(*n),
        AnyValue::String(s) => Value::Text((*s).into()),
        AnyValue::StringOwned(s) => Value::Text(s.as_str().into()),
        other => panic!("a cell of another type: {other:?}"),
    }
}

fn assert_same<T: Record>(df: &DataFrame, rows: &[(T, Option<&str>)]) {
    assert_eq!(df.height(), rows.len());
    let names: Vec<&str> = df.columns().iter().map(|c| c.name().as_str()).collect();
    let want: Vec<&str> = T::COLUMNS.iter().map(|c| c.name).collect();
    assert_eq!(names, want);
    for (c, of) in df.columns().iter().zip(T::COLUMNS) {
        assert_eq!(arrow_name(of), c.dtype().to_string(), "{}", of.name);
    }
    for (n, (r, comm)) in rows.iter().enumerate() {
        for (c, want) in df.columns().iter().zip(values(r, *comm, &Fields::BLKTRACE)) {
            assert_eq!(cell(&c.get(n).unwrap()), want, "row {n}, {}", c.name());
        }
    }
}

fn arrow_name<T>(c: &Column<T>) -> &'static str {
    match c.get {
        Get::Bool(_) => "bool",
        Get::U32(_) => "u32",
        Get::U64(_) => "u64",
        Get::I32(_) => "i32",
        Get::I64(_) => "i64",
        Get::Text(_) => "str",
    }
}

/// Events with the ends of every range, absent cells, and names that CSV would have to quote.
fn events() -> Vec<(BlockEvent, Option<&'static str>)> {
    let mut full = BlockEvent::new(Nanos(i64::MAX), DevId::new(0xfff, 0xf_ffff), Action::Remap);
    full.sector = u64::MAX - 1;
    full.bytes = u64::MAX;
    full.aux = u64::MAX;
    full.aux_dev = DevId::new(8, 1);
    full.rwbs = Rwbs::new(b"FWFSM");
    (full.pid, full.cpu, full.line) = (u32::MAX - 1, u16::MAX - 1, u32::MAX - 1);
    let mut failed = BlockEvent::new(Nanos(i64::MIN), DevId::new(8, 0), Action::Complete);
    failed.error = i16::MIN;
    failed.flags = BlockEvent::PASSTHROUGH;
    let bare = BlockEvent::new(Nanos(0), DevId::NONE, Action::Plug);
    vec![
        (full, Some("a \"b\", [c]/é\n")),
        (failed, Some("")),
        (bare, None),
    ]
}

fn request(id: u64) -> Request {
    let odd = |n: i64| {
        if id.is_multiple_of(3) {
            Stamp::NONE
        } else {
            Stamp::at(Nanos(n - 7))
        }
    };
    Request {
        id,
        dev: DevId::new(259, 0),
        kind: RequestKind::Io,
        sector: id * 8,
        bytes: 4096,
        rwbs: Rwbs::new(b"WS"),
        pid: 213,
        comm: CommId(0),
        cpu: 1,
        line: u32::MAX,
        first_sector: id * 8,
        first_bytes: 4096,
        q: odd(1),
        g: odd(2),
        i: Stamp::NONE,
        d_first: Stamp::at(Nanos(5)),
        d: Stamp::at(Nanos(9)),
        c_data: odd(100),
        c: odd(100),
        issues: 2,
        requeues: 1,
        inserts: 0,
        completions: 1,
        bios: 2,
        merged: 1,
        preflush: id.is_multiple_of(2),
        postflush: false,
        waiters: 0,
        outcome: Outcome::Failed(-5),
        pairing: Pairing::Exact,
    }
}

fn bio(id: u64) -> Bio {
    Bio {
        id,
        dev: DevId::new(8, 0),
        sector: 0,
        bytes: 512,
        rwbs: Rwbs::EMPTY,
        pid: 0,
        comm: CommId::NONE,
        cpu: 0,
        line: 4,
        q: Stamp::at(Nanos(10)),
        g: Stamp::NONE,
        m: Stamp::at(Nanos(3)),
        i: Stamp::NONE,
        d: Stamp::NONE,
        c_data: Stamp::NONE,
        c: Stamp::NONE,
        pieces: 1,
        merged: Some(MergeKind::Front),
        fate: BioFate::EndedAlone(-11),
        request: Some(u64::MAX),
        parent: None,
        parent_dev: DevId::new(253, 0),
        unclean: true,
    }
}

#[test]
fn every_cell_comes_back() {
    let requests: Vec<_> = (0..7)
        .map(|n| {
            (
                request(n),
                ["fio", "kworker/0:1-events"].get(n as usize % 3).copied(),
            )
        })
        .collect();
    let bios = [(bio(1), Some("dd")), (bio(2), None)];
    for kind in KINDS {
        assert_same(&read(kind, &written(kind, 100, &events())), &events());
        assert_same(&read(kind, &written(kind, 100, &requests)), &requests);
        assert_same(&read(kind, &written(kind, 100, &bios)), &bios);
    }
}

#[test]
fn groups_are_bounded_and_keep_the_order() {
    let rows: Vec<_> = (0..250).map(|n| (request(n), Some("fio"))).collect();
    for kind in KINDS {
        assert_same(&read(kind, &written(kind, 100, &rows)), &rows);
        assert_same(&read(kind, &written(kind, 125, &rows)), &rows);
    }
    let groups = |group: usize| {
        let bytes = written(FileKind::Parquet, group, &rows);
        let mut reader = ParquetReader::new(Cursor::new(bytes));
        let meta = reader.get_metadata().unwrap();
        let sizes = meta.row_groups.iter().map(|g| g.num_rows());
        sizes.collect::<Vec<usize>>()
    };
    assert_eq!(groups(100), [100, 100, 50]);
    assert_eq!(groups(125), [125, 125], "no empty group at the end");
}

#[test]
fn rows_leave_when_their_group_is_full() {
    for kind in KINDS {
        let mut table = Table::with_groups(kind, &[], 10).unwrap();
        let mut out = Vec::new();
        for n in 0..9 {
            table
                .push(&request(n), None, &Fields::BLKTRACE, &mut out)
                .unwrap();
        }
        let before = out.len();
        table
            .push(&request(9), None, &Fields::BLKTRACE, &mut out)
            .unwrap();
        assert!(before < 5000, "{before}: more than the head of a file");
        assert!(
            out.len() > before,
            "the tenth row must bring the bytes of ten"
        );
    }
}

#[test]
fn a_table_without_rows_is_a_table() {
    for kind in KINDS {
        let df = read(kind, &written::<Request>(kind, 100, &[]));
        assert_same::<Request>(&df, &[]);
    }
}

#[test]
fn equal_rows_are_equal_bytes() {
    let rows: Vec<_> = (0..50).map(|n| (request(n), Some("fio"))).collect();
    for kind in KINDS {
        assert_eq!(written(kind, 20, &rows), written(kind, 20, &rows));
    }
}

#[test]
fn rows_of_a_union_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let requests: Vec<_> = (0..25).map(|n| (request(n), Some("fio"))).collect();
    let bios: Vec<_> = (0..7).map(|n| (bio(n), None)).collect();
    let kind = FileKind::Parquet;
    std::fs::write(dir.path().join("r.parquet"), written(kind, 10, &requests)).unwrap();
    std::fs::write(dir.path().join("b.parquet"), written(kind, 10, &bios)).unwrap();
    let ask = |sql: &str| {
        let query = Query::over_files(sql, &[dir.path().to_path_buf()]).unwrap();
        let answer = query.answer().unwrap();
        assert_eq!(answer.height(), 1, "{sql}");
        let cell = answer.row(0).next().unwrap();
        format!("{cell:?}")
    };
    let union = "select id from requests where id < 20 union all select id from bios";
    assert_eq!(
        ask(&format!("select count(*) from ({union}) t")),
        "Uint(27)"
    );
    let filtered = format!("select count(*) from ({union}) t where id < 5");
    assert_eq!(ask(&filtered), "Uint(10)");
    assert_eq!(ask("select count(*) from bios"), "Uint(7)");
}
