#!/usr/bin/env python3
"""The queries of queries/*.sql, answered by polars (`blkan sql`) and by Apache Spark over one data set, against
`blkan stats --json` of every trace: counts equal, means within 1e-9 of each other.

usage: compare.py BLKAN TRACE...

Needs a build with tables. Spark needs pyspark and Java; without pyspark, or with QUERIES_NO_SPARK=1, its part is skipped,
and that is said. QUERIES_NEED_SPARK=1 makes a missing pyspark a failure.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUERIES = ("requests", "bios", "merges", "flushes")
CLOSE = 1e-9


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(args)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def query(name):
    with open(os.path.join(ROOT, "queries", name + ".sql")) as f:
        return f.read()


def by_polars(blkan, data):
    answers = {}
    for name in QUERIES:
        path = os.path.join(ROOT, "queries", name + ".sql")
        lines = run(blkan, "sql", "--json", "-q", path, data).splitlines()
        answers[name] = [json.loads(line) for line in lines]
    return answers


def by_spark(data):
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .appName("queries")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        # A trace named 0815 is a name.
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for table in ("requests", "bios"):
        spark.read.parquet(os.path.join(data, table)).createOrReplaceTempView(table)
    answers = {n: [r.asDict() for r in spark.sql(query(n)).collect()] for n in QUERIES}
    print(f"spark {spark.version}")
    spark.stop()
    return answers


class Report:
    def __init__(self, engine):
        self.engine, self.compared, self.wrong = engine, 0, []

    def check(self, what, got, want, exact):
        self.compared += 1
        if got is None or want is None:
            same = got is None and want is None
        elif exact:
            same = int(got) == int(want)
        else:
            same = abs(float(got) - want) <= CLOSE * max(abs(want), 1.0)
        if not same:
            self.wrong.append(f"{self.engine}: {what}: {got}, stats has {want}")


def keyed(rows, *columns):
    out = {}
    for row in rows:
        out[tuple(row[c] for c in columns)] = row
    if len(out) != len(rows):
        sys.exit(f"two rows of one key: {columns}")
    return out


def mean(dist):
    return None if dist is None else dist["mean"]


def compare_group(r, what, row, group):
    for column, want in [
        ("requests", group["requests"]),
        ("completed", group["completed"]),
        ("failed", group["failed"]),
        ("still_open", group["open"]),
        ("lost", group["lost"]),
        ("issues", group["issues"]),
        ("requeues", group["requeues"]),
    ]:
        # Null in stats: the trace cannot tell. The rows then have none.
        if want is not None:
            r.check(f"{what} {column}", row[column], want, True)
    if group["issues_per_rq"] is not None:
        r.check(f"{what} issues_per_rq", row["issues_per_rq"], group["issues_per_rq"], False)
    for span in ("q2g", "g2d", "d2c", "fd2c", "g2c", "q2c"):
        r.check(f"{what} {span}", row[span + "_mean"], mean(group["latency_ns"][span]), False)
    for span, end in (("d2c", "min"), ("d2c", "max"), ("g2c", "max")):
        dist = group["latency_ns"][span]
        r.check(f"{what} {span} {end}", row[f"{span}_{end}"], dist and dist[end], True)


def compare_bios(r, what, row, group):
    r.check(f"{what} bios", row["bios"], group["bios"], True)
    if group["merged_bios"] is not None:
        r.check(f"{what} merged", row["merged_bios"], group["merged_bios"], True)
        share = group["merged_bios"] / group["bios"] if group["bios"] else None
        r.check(f"{what} share", row["merged_share"], share, False)
    sizes = group["bio_bytes"]
    r.check(f"{what} sized", row["sized"], sizes["n"] if sizes else 0, True)
    r.check(f"{what} bytes", row["bytes_mean"], mean(sizes), False)
    for end in ("min", "max"):
        r.check(f"{what} bytes {end}", row["bytes_" + end], sizes and sizes[end], True)
    for span in ("q2g", "q2m", "q2c"):
        r.check(f"{what} bio {span}", row[span + "_mean"], mean(group["bio_latency_ns"][span]), False)


def compare_device(r, what, key, rows, device):
    merges = rows["merges"].pop(key, None)
    share = device["merge"]["share"]
    if share is not None:
        r.check(f"{what} merge share", merges and merges["share"], share, False)
    flush = device["flush"]
    counts = ("bios", "steps", "sent", "requeued", "completed")
    row = rows["flushes"].pop(key, None)
    if row is None:
        row = dict.fromkeys(counts, 0) | {"steps_per_flush": None}
    for column in counts:
        if flush[column] is not None:
            r.check(f"{what} flush {column}", row[column], flush[column], True)
    if flush["steps_per_flush"] is not None:
        r.check(f"{what} steps per flush", row["steps_per_flush"], flush["steps_per_flush"], False)


def compare(engine, answers, stats):
    r = Report(engine)
    rows = {n: keyed(answers[n], "trace", "dev", "rwbs") for n in ("requests", "bios")}
    rows |= {n: keyed(answers[n], "trace", "dev") for n in ("merges", "flushes")}
    for trace, report in stats.items():
        for device in report["devices"]:
            dev = device["dev"]
            compare_device(r, f"{trace} {dev}", (trace, dev), rows, device)
            for group in device["groups"]:
                rwbs = group["by"]["rwbs"]
                key = (trace, dev, rwbs)
                what = f"{trace} {dev} {rwbs}"
                row = rows["requests"].pop(key, None)
                if row is not None:
                    compare_group(r, what, row, group)
                else:
                    r.check(f"{what} requests", 0, group["requests"], True)
                row = rows["bios"].pop(key, None)
                if row is not None:
                    compare_bios(r, what, row, group)
                elif group["bios"] is not None:
                    r.check(f"{what} bios", 0, group["bios"], True)
    for name in rows:
        for key in rows[name]:
            r.wrong.append(f"{engine}: {name}: {key} is not in stats")
    return r


def build(blkan, traces, data):
    """The data set, and what `stats` says of each trace."""
    stats = {}
    for path in traces:
        trace = os.path.basename(os.path.dirname(os.path.abspath(path)))
        if trace in stats:
            sys.exit(f"two traces named {trace}")
        for command in ("requests", "bios"):
            keys = f"host=test,trace={trace},dev"
            run(blkan, command, "-q", "-o", data + "/", "--partition", keys, path)
        stats[trace] = json.loads(run(blkan, "stats", "-q", "--json", path))
    return stats


def main():
    blkan, traces = os.path.abspath(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as data:
        stats = build(blkan, traces, data)
        files = glob.glob(data + "/**/*.parquet", recursive=True)
        print(f"{len(stats)} traces, {len(files)} files")
        reports = [compare("polars", by_polars(blkan, data), stats)]
        try:
            if os.environ.get("QUERIES_NO_SPARK"):
                raise ImportError("switched off")
            reports.append(compare("spark", by_spark(data), stats))
        except ImportError as e:
            if os.environ.get("QUERIES_NEED_SPARK"):
                raise
            print(f"SKIPPED spark: {e}")
    for r in reports:
        print(f"{r.engine}: {r.compared} numbers compared, {len(r.wrong)} differ")
        if r.compared < 100:
            sys.exit("too few to mean anything")
        for line in r.wrong[:40]:
            print("  " + line)
    sys.exit(any(r.wrong for r in reports))


if __name__ == "__main__":
    main()
