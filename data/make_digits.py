#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the UCI handwritten digits into IDX files: make_digits.py DIGITS.CSV.GZ FOLDER

The csv (64 pixels of 0..16 and a label a line, 1797 lines) lies in scikit-learn's wheel as
sklearn/datasets/data/digits.csv.gz and in Debian's python3-sklearn. Pixels are scaled to 0..255;
the first 1500 samples become train, the other 297 test. README.md says how they are packed.
"""
import gzip
import hashlib
import pathlib
import struct
import sys

SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
TRAIN = 1500


def write_idx(path, shape, values):
    header = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
    path.write_bytes(header + bytes(values))


def main(source, folder):
    raw = pathlib.Path(source).read_bytes()
    if hashlib.sha256(raw).hexdigest() != SHA256:
        sys.exit(f"{source}: not the digits.csv.gz that this recipe was written for")
    rows = [[int(v) for v in line.split(",")] for line in gzip.decompress(raw).decode().split()]
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for split, part in (("train", rows[:TRAIN]), ("test", rows[TRAIN:])):
        pixels = [(v * 255 + 8) // 16 for row in part for v in row[:64]]  # round(v * 255 / 16)
        write_idx(out / f"{split}-images.idx", (len(part), 8, 8), pixels)
        write_idx(out / f"{split}-labels.idx", (len(part),), [row[64] for row in part])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
