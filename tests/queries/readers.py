#!/usr/bin/env python3
"""What `blkan` writes, opened by the readers that people use: pyarrow, polars, DuckDB. Types, units, and sums against the
CSV of the same rows, which is read with the standard library alone.

usage: readers.py BLKAN TRACE
"""

import csv
import os
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

TYPES = {
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*args):
    subprocess.run(args, check=True)


def documented(table):
    """Columns, types and units as docs/output-rows.md lists them."""
    with open(os.path.join(ROOT, "docs/output-rows.md")) as f:
        section = f.read().split(f"## Columns of `{table}`")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return [(r[1].strip().strip("`"), r[2].strip(), r[3].strip()) for r in rows]


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, expected {want!r}")


def check_schema(what, schema, columns):
    check(f"{what}: names", schema.names, [n for n, _, _ in columns])
    for name, kind, unit in columns:
        field = schema.field(name)
        if kind == "string":
            text = (pa.string(), pa.large_string(), pa.string_view())
            check(f"{what}: {name} is text", field.type in text, True)
        else:
            check(f"{what}: type of {name}", field.type, TYPES[kind])
        check(f"{what}: unit of {name}", (field.metadata or {}).get(b"unit", b"").decode(), unit)


def expected(path, columns):
    """Of every column: the cells that are there, and of numbers their sum."""
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    out = {"rows": len(rows)}
    for name, kind, _ in columns:
        cells = [r[name] for r in rows if r[name] != ""]
        numbers = kind not in ("string", "bool")
        out[name] = (len(cells), sum(map(int, cells)) if numbers else None)
    return out


def check_table(what, table, columns, want):
    check(f"{what}: rows", table.num_rows, want["rows"])
    for name, kind, _ in columns:
        column = table.column(name)
        there, total = want[name]
        # Empty texts are as absent in CSV.
        check(f"{what}: {name} cells", table.num_rows - column.null_count, there)
        if total is not None:
            cells = (v for v in column.to_pylist() if v is not None)
            check(f"{what}: sum of {name}", sum(cells), total)


def main():
    blkan, trace = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as tmp:
        for table in ("events", "requests", "bios"):
            columns = documented(table)
            base = os.path.join(tmp, table)
            for ext in (".csv", ".parquet", ".arrow"):
                flags = ["--csv"] if ext == ".csv" else []
                run(blkan, table, "-q", *flags, "-o", base + ext, trace)
            want = expected(base + ".csv", columns)
            parquet = pq.read_table(base + ".parquet")
            arrow = feather.read_table(base + ".arrow")
            for what, got in ((f"{table}.parquet", parquet), (f"{table}.arrow", arrow)):
                check_schema(what, got.schema, columns)
                check_table(what, got, columns, want)
            told = pq.ParquetFile(base + ".parquet").metadata.metadata
            check("the table's name", told.get(b"blkan.table"), table.encode())
            check("the table's name", arrow.schema.metadata.get(b"blkan.table"), table.encode())
            frame = polars.read_parquet(base + ".parquet")
            check(f"polars: {table}", frame.to_arrow().num_rows, want["rows"])
            again = polars.read_ipc(base + ".arrow")
            check(f"polars: {table}: both files", frame.equals(again), True)
            for name, _, _ in columns:
                if want[name][1] is None:
                    continue
                sql = f"select count({name}), sum({name}::hugeint) from '{base}.parquet'"
                [(n, total)] = duckdb.sql(sql).fetchall()
                check(f"duckdb: {table}.{name}", (n, int(total or 0)), want[name])
        data = os.path.join(tmp, "data/")
        run(blkan, "requests", "-q", "-o", data, "--partition", "host=a/b,dev", trace)
        whole = pq.read_table(os.path.join(tmp, "requests.parquet"))
        count = whole.group_by("dev").aggregate([("id", "count")]).to_pylist()
        want = {r["dev"]: r["id_count"] for r in count}
        sql = f"select dev, host, count(*) from read_parquet('{data}**/*.parquet', hive_partitioning=true) group by all"
        rows = duckdb.sql(sql).fetchall()
        check("duckdb: devices", {dev: n for dev, _, n in rows}, want)
        check("duckdb: host", {host for _, host, _ in rows}, {"a/b"})
        lazy = polars.scan_parquet(data + "requests", hive_partitioning=True)
        rows = lazy.group_by("dev", "host").len().collect().rows()
        check("polars: devices", {dev: n for dev, _, n in rows}, want)
    names = f"pyarrow {pa.__version__}, polars {polars.__version__}, duckdb {duckdb.__version__}"
    print(f"{names}: {trace}: all columns as documented")


if __name__ == "__main__":
    main()
