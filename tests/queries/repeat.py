#!/usr/bin/env python3
"""A blkparse text many times over on stdout, each copy later than the one before: a long trace from a short one.

usage: repeat.py TRACE[.gz] COPIES | blkan requests -o long.parquet -
"""

import gzip
import itertools
import re
import sys

EVENT = re.compile(rb"^( *\d+,\d+ +\d+ +\d+) +(\d+)(\.\d+ .*\n)", re.M)
MARK = b"\0"


def main():
    path, copies = sys.argv[1], int(sys.argv[2])
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        text = f.read()
    events = EVENT.findall(text)
    if not events or MARK in text:
        sys.exit(f"{path}: no blkparse text")
    # All lines of a second with a mark in its place: one replacement a second and copy.
    parts = [
        (int(second), b"".join(head + MARK + tail for head, _, tail in lines))
        for second, lines in itertools.groupby(events, key=lambda e: e[1])
    ]
    length = max(second for second, _ in parts) + 2
    for n in range(copies):
        for second, part in parts:
            sys.stdout.buffer.write(part.replace(MARK, b" %5d" % (second + n * length)))


if __name__ == "__main__":
    main()
