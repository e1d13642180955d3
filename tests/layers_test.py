#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the tree against the design: which room may include and link which, who owns which library's headers, what pure
files must not see, and the habits that every file keeps. Prints each violation as file:line.

layers_test.py --tree [ROOT]    checks the tree (default: the one this file is in)
layers_test.py --self-test      checks that violations in a small bad tree are found
"""
import re
import sys
import tempfile
from pathlib import Path

# The table: a room may include the rooms named here and whatever those may include.
MAY_INCLUDE = {
    "core": [], "config": ["core"], "launch": ["config"], "comm": ["launch"], "watch": ["comm"], "io": ["comm"],
    "tensor": ["comm"], "data": ["io", "tensor"], "model": ["tensor"], "optim": ["tensor"],
    "parallel": ["model", "optim"], "checkpoint": ["io", "tensor"], "metrics": ["comm"],
    "train": ["data", "parallel", "checkpoint", "metrics", "watch"], "session": ["train"], "report": ["config"],
    "study": ["session", "report"], "commands": ["study"],
}

# Headers of libraries: pattern, who may include them in src/ (rooms, or single files), and in words.
TORCH = r"(torch|ATen|c10|caffe2)/"
OWNED = [
    (r"mpi\.h$", ["launch", "comm", "io"]),
    (r"hdf5\.h$|H5\w*public\.h$", ["io"]),
    (r"nccl\.h$", ["comm"]),
    (r"cuda\w*\.h$|cuda/", ["launch", "comm", "tensor", "optim", "parallel"]),
    (r"(spdlog|fmt)/", ["core/log.cpp"]),
    (r"xxh(ash|3)\.h$", ["core"]),
    (r"boost/program_options", ["config"]),
    (r"boost/crc", ["metrics"]),
    (r"(jpeglib|png)\.h$", ["data"]),
    (r"zlib\.h$", ["io", "data"]),  # chunks; pack reads .gz
    (r"dlfcn\.h$", ["session"]),
]
# Targets of libraries on link lines of src/*/CMakeLists.txt.
OWNED_TARGETS = {
    "MPI::MPI_C": ["launch", "comm", "io"], "MPI::MPI_CXX": [], "lockstep::hdf5": ["io"], "lockstep::nccl": ["comm"],
    "spdlog::spdlog": ["core"], "lockstep::xxhash": ["core"], "Boost::program_options": ["config"],
}
MAX_LINES = 400
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
TEXT = CODE | {".py", ".sh", ".cmake", ".txt", ".sbatch", ".yaml", ".ini", ".md", ".in"}
FOLDERS = ["src", "tests", "env", "jobs", "data", ".ci"]
MACHINE_PATH = re.compile(r"(?<![\w.$}/~*-])/(" + "|".join(["work", "root", "home/[a-z]\\w*", "mnt", "Users"]) + r")/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def closure(room):
    """The rooms that `room` may include, itself included."""
    seen, todo = set(), [room]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += MAY_INCLUDE.get(name, [])
    return seen


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.violations = []

    def complain(self, path, line, text):
        self.violations.append(f"{Path(path).relative_to(self.root)}:{line}: {text}")

    def files(self, folder, suffixes):
        return sorted(p for p in (self.root / folder).rglob("*") if p.suffix in suffixes and p.is_file())

    @staticmethod
    def lines(path):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()

    def includes(self, path):
        """(line number, quoted by ", name) of each include."""
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) == '"', match.group(2)

    def room_of(self, path, top):
        parts = path.relative_to(self.root / top).parts
        return parts[0] if len(parts) > 1 else None

    # --- src ---------------------------------------------------------------------------------------------------------

    def check_sources(self):
        for path in self.files("src", CODE):
            room = self.room_of(path, "src")
            if room is None:  # main.cpp and its like may include everything
                allowed = set(MAY_INCLUDE)
            elif room not in MAY_INCLUDE:
                self.complain(path, 1, f"the room '{room}' is not in the design's table")
                continue
            else:
                allowed = closure(room)
            for number, quoted, name in self.includes(path):
                self.check_room_include(path, number, name, allowed, room)
                self.check_owner(path, number, name, room)

    def check_room_include(self, path, number, name, allowed, room):
        target = name.split("/")[0]
        if target in MAY_INCLUDE and "/" in name and target not in allowed:
            self.complain(path, number, f"{room or 'src'} may not include {target} (\"{name}\")")

    def check_owner(self, path, number, name, room):
        relative = str(path.relative_to(self.root / "src"))
        for pattern, owners in OWNED:
            if re.match(pattern, name) and room not in owners and relative not in owners:
                self.complain(path, number, f"<{name}> belongs to {', '.join(owners)}")
        if re.match(TORCH, name) and room is not None and "tensor" not in closure(room):
            self.complain(path, number, f"{room} must not see LibTorch (<{name}>)")
        if name == "torch/torch.h" and path.suffix != ".cpp":
            self.complain(path, number, "<torch/torch.h> only in .cpp files, where the precompiled header has it already")
        if name.startswith("nlohmann/") and path.suffix != ".cpp":
            self.complain(path, number, "nlohmann-json only in .cpp files")

    # --- CMake -------------------------------------------------------------------------------------------------------

    def check_links(self):
        for path in sorted((self.root / "src").glob("*/CMakeLists.txt")):
            room = path.parent.name
            for number, line in enumerate(self.lines(path), 1):
                for target in re.findall(r"[A-Za-z]\w*::\w+", line.split("#")[0]):
                    self.check_link(path, number, room, target)

    def check_link(self, path, number, room, target):
        if target in OWNED_TARGETS:
            if room not in OWNED_TARGETS[target]:
                self.complain(path, number, f"{target} belongs to {', '.join(OWNED_TARGETS[target]) or 'nobody'}")
        elif target == "lockstep::torch":
            if "tensor" not in closure(room):
                self.complain(path, number, f"{room} must not link LibTorch")
        elif target.startswith("lockstep::"):
            other = target.removeprefix("lockstep::").removesuffix("_pure")
            if other in MAY_INCLUDE and other not in closure(room):
                self.complain(path, number, f"{room} may not link {target}")

    def pure_files(self):
        """(file, room) of the PURE lists."""
        words = r"\b(PURE|SOURCES|LINKS|PURE_LINKS|TORCH)\b"
        for path in sorted((self.root / "src").glob("*/CMakeLists.txt")):
            text = "\n".join(line.split("#")[0] for line in self.lines(path))
            for call in re.findall(r"lockstep_room\(([^)]*)\)", text):
                pieces = re.split(words, call)
                for key, value in zip(pieces[1::2], pieces[2::2]):
                    if key == "PURE":
                        for name in value.split():
                            if (path.parent / name).is_file():
                                yield path.parent / name

    def check_pure(self):
        """Pure files see neither LibTorch nor MPI, also not through headers of ours."""
        for source in self.pure_files():
            seen, todo = set(), [(source, None)]
            while todo:
                path, via = todo.pop()
                for number, quoted, name in self.includes(path):
                    if re.match(TORCH + r"|mpi\.h$", name):
                        place = f" through {path.relative_to(self.root)}:{number}" if path != source else ""
                        self.complain(source, via or number, f"a pure file sees <{name}>{place}")
                    header = self.root / "src" / name
                    if quoted and header.is_file() and header not in seen:
                        seen.add(header)
                        todo.append((header, via or number))

    # --- tests -------------------------------------------------------------------------------------------------------

    def check_tests(self):
        for path in self.files("tests", CODE):
            room = self.room_of(path, "tests")
            if room not in MAY_INCLUDE:
                continue
            allowed = closure(room) | {"watch"}
            for number, quoted, name in self.includes(path):
                if not (self.root / "tests" / name).is_file() or (self.root / "src" / name).is_file():
                    self.check_room_include(path, number, name, allowed, f"tests/{room}")
                if re.match(r"catch2/", name):
                    self.complain(path, number, f"<{name}>: use support/catch.hpp")

    # --- every file --------------------------------------------------------------------------------------------------

    def check_habits(self):
        top = [p for p in sorted(self.root.iterdir()) if p.is_file() and p.suffix in TEXT]
        for path in top + [p for folder in FOLDERS if (self.root / folder).is_dir() for p in self.files(folder, TEXT)]:
            lines = self.lines(path)
            for number, line in enumerate(lines, 1):
                if MACHINE_PATH.search(line):
                    self.complain(path, number, f"a path of one machine: {line.strip()[:80]}")
            if path.suffix in CODE | {".py", ".sh"}:
                if not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
                    self.complain(path, 1, "the SPDX line is missing")
                if len(lines) > MAX_LINES and path.suffix in CODE:
                    self.complain(path, len(lines), f"{len(lines)} lines; at most {MAX_LINES}, better 150")
            if path.suffix == ".hpp" and "#pragma once" not in lines:
                self.complain(path, 1, "#pragma once is missing")

    def check(self):
        self.check_sources()
        self.check_links()
        self.check_pure()
        self.check_tests()
        self.check_habits()
        return self.violations


SPDX = "// SPDX-License-Identifier: MIT\n"
BAD_TREE = {
    "src/core/a.hpp": SPDX + '#pragma once\n#include "comm/b.hpp"\n#include <nlohmann/json.hpp>\n',
    "src/core/a.cpp": SPDX + '#include "core/torchy.hpp"\n',
    "src/core/torchy.hpp": SPDX + "#pragma once\n#include <torch/types.h>\n",
    "src/core/CMakeLists.txt": "lockstep_room(core PURE a.cpp\n  LINKS lockstep::comm)\n",
    "src/comm/b.hpp": SPDX + "#include <mpi.h>\n#include <hdf5.h>\n",
    "src/comm/long.cpp": SPDX + "\n" * 500,
    "src/data/c.hpp": '#pragma once\n#include "io/x.hpp"\n#include "parallel/y.hpp"\n#include <torch/torch.h>\n',
    "src/data/CMakeLists.txt": "lockstep_room(data SOURCES c.cpp LINKS lockstep::io MPI::MPI_C)\n",
    "src/report/d.cpp": SPDX + "#include <ATen/ATen.h>\n#include <spdlog/spdlog.h>\n",
    "src/kitchen/e.cpp": SPDX,
    "src/main.cpp": SPDX + '#include "commands/run.hpp"\n',
    "tests/io/f_test.cpp": SPDX + '#include "support/catch.hpp"\n#include "train/loop.hpp"\n// see ' + "/ro" + "ot/x\n",
}
EXPECTED = [
    "src/core/a.hpp:3: core may not include comm", "src/core/a.hpp:4: nlohmann-json only",
    "src/core/torchy.hpp:3: core must not see LibTorch", "src/core/a.cpp:2: a pure file sees <torch/types.h> through",
    "src/core/CMakeLists.txt:2: core may not link lockstep::comm", "src/comm/b.hpp:1: #pragma once",
    "src/comm/b.hpp:3: <hdf5.h> belongs to io", "src/comm/long.cpp:501: 501 lines",
    "src/data/c.hpp:1: the SPDX line", "src/data/c.hpp:3: data may not include parallel",
    "src/data/c.hpp:4: <torch/torch.h> only in .cpp files",
    "src/data/CMakeLists.txt:1: MPI::MPI_C belongs to", "src/report/d.cpp:2: report must not see LibTorch",
    "src/report/d.cpp:3: <spdlog/spdlog.h> belongs to core/log.cpp", "src/kitchen/e.cpp:1: the room 'kitchen'",
    "tests/io/f_test.cpp:3: tests/io may not include train", "tests/io/f_test.cpp:4: a path of one machine",
]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in BAD_TREE.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = Tree(folder).check()
    missed = [want for want in EXPECTED if not any(line.startswith(want) for line in found)]
    extra = [line for line in found if not any(line.startswith(want) for want in EXPECTED)]
    for line in missed:
        print(f"not found: {line}")
    for line in extra:
        print(f"found without a cause: {line}")
    return bool(missed or extra)


def main():
    if "--self-test" in sys.argv[1:]:
        return self_test()
    places = [word for word in sys.argv[1:] if not word.startswith("--")]
    violations = Tree(places[0] if places else Path(__file__).resolve().parent.parent).check()
    print("\n".join(violations) if violations else "every file keeps the design's rules")
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
