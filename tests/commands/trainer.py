# SPDX-License-Identifier: MIT
# What the end-to-end tests share: the program started under the launcher in a folder of its own, with a time limit; its
# answer; what it left on disk; and the certainty that no process of it is left. Standard library only.
#
# Environment (ctest sets it): TRAINER, the program; TRAINER_MPIEXEC, the launcher with its flags, up to the number of ranks;
# LOCKSTEP_LONG=1, the long variants too.
import contextlib
import ctypes
import filecmp
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINER = os.environ.get("TRAINER", str(ROOT / "build/release/trainer"))
MPIEXEC = os.environ.get("TRAINER_MPIEXEC", "mpirun --map-by :OVERSUBSCRIBE --bind-to none -np").split()
LONG = os.environ.get("LOCKSTEP_LONG") == "1"
LIMIT_S = 90  # of one launch; a hang is the normal failure of a program of several ranks
MARK = "TRAINER_TEST_JOB"  # in the environment of every process of a launch
_numbers = itertools.count()
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def environment(extra):
    """What the program sees: nothing of other launchers, no options left over from the caller."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("LOCKSTEP_", "PMI", "OMPI_COMM", "SLURM_"))}
    mine.setdefault("OMP_NUM_THREADS", "1")
    if os.getuid() == 0:
        mine.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    for name, value in extra.items():
        mine.pop(name, None)
        if value is not None:
            mine[name] = value
    return mine


def die_with_parent():
    """In a new process: it gets TERM when this one is gone, also when ctest kills it. mpirun then ends its ranks."""
    if _libc is not None:
        _libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Result:
    """How a launch ended: code, out, err, seconds."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds

    def __str__(self):
        words = " ".join(self.command)
        return f"{words}\ncode {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Job:
    """A launch under way. Ends with the test, however that ends."""

    def __init__(self, command, cwd, env=None, limit=LIMIT_S):
        self.command = [str(word) for word in command]
        self.limit = limit
        self.mark = f"{os.getpid()}-{next(_numbers)}"
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            self.command, cwd=cwd, env=environment({**(env or {}), MARK: self.mark}),
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, start_new_session=True, preexec_fn=die_with_parent)

    def processes(self):
        """pid -> environment of every living process of this launch."""
        mark, found = f"{MARK}={self.mark}".encode(), {}
        for folder in pathlib.Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (folder / "environ").read_bytes().split(b"\0")
                    if mark in words:
                        found[int(folder.name)] = dict(w.decode(errors="replace").split("=", 1) for w in words if b"=" in w)
        return found

    def ranks(self, count):
        """rank -> pid, once all `count` ranks are there."""
        def look():
            found = {}
            for pid, words in self.processes().items():
                with contextlib.suppress(OSError):
                    if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(TRAINER):
                        found[int(words.get("OMPI_COMM_WORLD_RANK") or words.get("PMI_RANK") or 0)] = pid
            return found if len(found) == count else None
        return self.until(look, f"{count} ranks")

    def until(self, look, what):
        """What look() gives, once it gives something."""
        end = time.monotonic() + self.limit
        while True:
            alive = self.process.poll() is None
            found = look()
            if found:
                return found
            if not alive or time.monotonic() > end:
                raise AssertionError(f"waited in vain for {what}\n{self.finish()}")
            time.sleep(0.01)

    def kill(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def abandon(self):
        """For a test that failed before finish(); else nothing is left to do."""
        self.kill()
        self.process.wait()
        self.out.close()
        self.err.close()

    def finish(self):
        """Waits for the end; fails where that is late, or where a process stays behind."""
        late = False
        try:
            self.process.wait(max(0.1, self.began + self.limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
            self.kill()
            self.process.wait()
        result = Result(self.command, self.process.returncode, self._text(self.out), self._text(self.err),
                        time.monotonic() - self.began)
        end = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        self.kill()
        if late:
            raise AssertionError(f"not over after {self.limit} s: {result}")
        if left:
            raise AssertionError(f"processes {sorted(left)} stay behind: {result}")
        return result

    @staticmethod
    def _text(file):
        with file:
            file.seek(0)
            return file.read().decode(errors="replace")


class Case(unittest.TestCase):
    """A test in an empty folder of its own (self.folder), where its launches run."""

    longMessage = True
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trainer-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, np, *words, env=None, limit=LIMIT_S, cwd=None):
        """np 0: without the launcher."""
        launch = [*MPIEXEC, np, TRAINER] if np else [TRAINER]
        return self.start_command([*launch, *words], env=env, limit=limit, cwd=cwd)

    def start_command(self, command, env=None, limit=LIMIT_S, cwd=None):
        job = Job(command, cwd or self.folder, env, limit)
        self.addCleanup(job.abandon)
        return job

    def run_trainer(self, np, *words, code=0, **how):
        result = self.start(np, *words, **how).finish()
        self.assertEqual(result.code, code, result)
        return result

    def refused(self, code, texts, np, *words, **how):
        """Ends with `code` and says `texts`, once, and not as a crash. Returns the result."""
        return self.judge_refusal(code, texts, self.start(np, *words, **how).finish())

    def judge_refusal(self, code, texts, result):
        self.assertEqual(result.code, code, result)
        for text in texts:
            self.assertIn(text, result.err, result)
        self.assertEqual(len(re.findall(r"^\d\d:\d\d:\d\d error: ", result.err, re.M)), 1, f"one message wanted\n{result}")
        for crash in ("HDF5-DIAG", "terminate called", "Segmentation", "Signal:"):
            self.assertNotIn(crash, result.err, result)
        return result

    # What runs leave behind. Paths are relative to self.folder.

    def path(self, *parts):
        return self.folder.joinpath(*parts)

    def rows(self, run, event="step"):
        with open(self.path(run, "metrics.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
        return [row for row in rows if row["event"] == event]

    def losses(self, run):
        return [row["loss"] for row in self.rows(run)]

    def saved_steps(self, run):
        return sorted(int(p.stem.removeprefix("step-")) for p in self.path(run, "checkpoints").glob("step-*.h5"))

    def checkpoint(self, run, step):
        return self.path(run, "checkpoints", f"step-{step:08d}.h5")

    def farthest_losses(self, left, right):
        """The largest relative difference between the losses of two runs of the same steps."""
        return max(abs(a - b) / abs(b) for a, b in zip(self.losses(left), self.losses(right), strict=True))

    def assert_losses_agree_over_ranks(self, counts, options, limit=1e-5):
        """Runs npN-SEED with each number of ranks and returns the seed. Rounding alone keeps losses within the limit. But now
        and then it decides on which side of a kink (ReLU, a maximum of the pooling) an activation lies, and from there on the
        losses differ by some 1e-5. That is luck, so another seed is tried; a wrong sum shows with every seed."""
        seen = {}
        for seed in (2, 3, 4):
            for np in counts:
                self.run_trainer(np, *options, "--seed", seed, "--run-dir", f"np{np}-{seed}")
            seen[seed] = [self.farthest_losses(f"np{np}-{seed}", f"np{counts[0]}-{seed}") for np in counts]
            self.assertLess(max(seen[seed]), 100 * limit, f"seed {seed}")
            if max(seen[seed]) <= limit:
                return seed
        self.fail(f"losses differ from those of {counts[0]} by {seen} with {counts} ranks")

    def wait_for_step(self, job, run, step):
        """The newest step of a run under way, once that is `step` or later."""
        def look():
            with contextlib.suppress(OSError):
                rows = self.rows(run)
                if rows and rows[-1]["step"] >= step:
                    return rows[-1]["step"]
            return None
        return job.until(look, f"step {step}")

    def assert_same_checkpoint(self, left, right):
        same = filecmp.cmp(left, right, shallow=False)
        self.assertTrue(same, f"{left} and {right} differ in {'' if same else different_datasets(left, right)}")

    def sample_lists(self, run):
        """One dict a rank: step -> ids."""
        lists = []
        for path in sorted(self.path(run, "samples").iterdir()):
            lines = [[int(word) for word in line.split()] for line in path.read_text().splitlines()]
            lists.append({line[0]: line[1:] for line in lines})
        return lists

    def samples(self, run):
        """step -> ids of all ranks, joined in the order of the ranks."""
        joined = {}
        for ids in self.sample_lists(run):
            for step, part in ids.items():
                joined.setdefault(step, []).extend(part)
        return joined

    # Small data sets.

    def pack(self, name, samples, shards=1, side=8, labels=None, classes=0, alike=False):
        """A data set of pictures of class i % 10: number i is grey i % 256 all over; alike: all are half black, half white."""
        size = side * side
        half = bytes(size // 2) + b"\xff" * (size // 2)
        pictures = half * samples if alike else b"".join(bytes([i % 256]) * size for i in range(samples))
        labels = bytes(i % 10 for i in range(samples)) if labels is None else bytes(labels)
        self.path(f"{name}.images").write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, samples, side, side) + pictures)
        self.path(f"{name}.labels").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, samples) + labels)
        self.run_trainer(0, "pack", "--idx-images", f"{name}.images", "--idx-labels", f"{name}.labels",
                         "--out", name, "--shards", shards, "--name", "toy",
                         *(f"--class-name=c{i}" for i in range(classes)))
        return self.path(name)


def h5dump(*words):
    return subprocess.run(["h5dump", *map(str, words)], check=True, capture_output=True, text=True, timeout=60).stdout


def dataset_names(path):
    """Names of the datasets of an HDF5 file."""
    lines = h5dump("-n", path).splitlines()
    return [line.split()[1] for line in lines if line.split()[:1] == ["dataset"]]


def floats(path, name):
    """A float32 dataset as a list."""
    with tempfile.NamedTemporaryFile() as out:
        h5dump("-d", name, "-b", "LE", "-o", out.name, path)
        raw = out.read()
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def raw_data(path, name):
    with tempfile.NamedTemporaryFile() as out:
        h5dump("-d", name, "-b", "FILE", "-o", out.name, path)
        return out.read()


def different_datasets(left, right):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        left_names, right_names = dataset_names(left), dataset_names(right)
        if left_names != right_names:
            return sorted(set(left_names) ^ set(right_names))
        return [name for name in left_names if raw_data(left, name) != raw_data(right, name)]
    return "(h5dump could not tell)"


def relative_difference(left, right):
    """|left - right| / |right| of two vectors."""
    distance = sum((a - b) ** 2 for a, b in zip(left, right, strict=True)) ** 0.5
    return distance / max(sum(b * b for b in right) ** 0.5, 1e-30)


def main():
    """Runs the tests of the calling file. Exit code 77 where any was skipped and none failed."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    for case, reason in result.skipped:
        print(f"skipped: {case}: {reason}")
    sys.exit(77 if result.skipped else 0)
