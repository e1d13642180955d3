# SPDX-License-Identifier: MIT
# Data sets from pack to training: the same bytes twice, unequal shards, files that change under a run, frozen parameters.
import gzip
import os
import re
import shutil

import trainer


class Data(trainer.Case):
    def files(self, folder):
        return {p.name: p.read_bytes() for p in self.path(folder).iterdir()}

    def test_packing_twice_gives_the_same_bytes_and_overwrites_nothing(self):
        self.pack("a", 23, shards=3)
        words = ["--idx-images", "a.images", "--idx-labels", "a.labels", "--shards", 3, "--name", "toy"]
        self.run_trainer(2, "pack", *words, "--out", "b")
        self.assertEqual(self.files("a"), self.files("b"))
        self.assertEqual(len(self.files("a")), 4)
        for name in ("a.images", "a.labels"):
            self.path(f"{name}.gz").write_bytes(gzip.compress(self.path(name).read_bytes()))
        self.run_trainer(0, "pack", "--idx-images", "a.images.gz", "--idx-labels", "a.labels.gz", *words[4:], "--out", "c")
        self.assertEqual(self.files("a"), self.files("c"))
        self.refused(73, ["b"], 2, "pack", *words, "--out", "b")
        self.refused(66, ["absent"], 0, "pack", "--idx-images", "absent", "--idx-labels", "a.labels", "--out", "d")
        self.refused(64, ["--out"], 0, "pack", *words)
        whole = self.path("a.images").read_bytes()
        self.path("a.images").write_bytes(whole[:-10])
        self.refused(65, ["a.images", "truncated"], 0, "pack", *words, "--out", "d")
        self.assertFalse(self.path("d").exists())
        self.assertEqual(self.files("a"), self.files("b"))

    def test_unequal_shards_give_every_rank_the_same_steps(self):
        """S11: shards of 7, 1 and 4 samples on 2 and 4 ranks; then a single shard."""
        self.path("set").mkdir()
        for name, samples in (("a", 7), ("b", 1), ("c", 4)):
            (self.pack(name, samples, classes=10, alike=True) / "toy-00000-of-00001.h5").rename(self.path("set", f"{name}.h5"))
        for np, data, tail, steps in ((2, "set", "keep", 3), (4, "set", "drop", 3), (4, "set/a.h5", "keep", 2),
                                      (4, "set/a.h5", "drop", 1)):
            self.run_trainer(np, "--data", data, "--batch-size", 4, "--tail", tail, "--epochs", 1, "--dump-samples",
                             "--run-dir", "run")
            lists = self.sample_lists("run")
            self.assertEqual([sorted(ids) for ids in lists], [list(range(1, steps + 1))] * np)
            used = sorted(i for ids in self.samples("run").values() for i in ids)
            self.assertEqual(used, sorted(set(used)))
            if data == "set":
                self.assertEqual(used, list(range(12)))
                self.assertEqual([len(ids[1]) for ids in lists], [4 // np] * np)
            shutil.rmtree(self.path("run"))

    def test_a_shard_that_gets_shorter_under_a_run_ends_it(self):
        """D04, L01: a read past the end on rank 1 only; rank, file and a code, never 'done'."""
        self.pack("toy", 512, shards=2, side=32)
        job = self.start(2, "--data", "toy", "--model", "mlp", "--shuffle", "none", "--batch-size", 512, "--epochs", 100000,
                         "--eval-every", 0, "--checkpoint-every", 0, "--run-dir", "run")
        self.wait_for_step(job, "run", 3)
        shard = self.path("toy", "toy-00001-of-00002.h5")
        os.truncate(shard, 9000)
        result = job.finish()
        self.assertIn(result.code, (65, 74), result)
        self.assertIn("toy-00001-of-00002.h5", result.err)
        self.assertIn("[rank 1]", result.err)
        self.assertNotIn("done |", result.out)

    def test_numbers_that_are_not_finite_end_the_run_on_all_ranks(self):
        """L01, L02: 76, the step, what to do."""
        result = self.refused(76, ["step ", "not finite", "--lr"], 2, "--optimizer", "sgd", "--lr", "1e30", "--run-dir", "run")
        self.assertNotIn("done |", result.out)
        self.assertEqual(self.rows("run", "end")[-1]["code"], 76)

    def test_a_last_save_that_fails_is_an_error(self):
        """L01, L02: no room for the checkpoint: 74, with path and reason."""
        limited = ["bash", "-c", 'trap "" XFSZ && ulimit -f 100 && exec "$@"', "bash", trainer.TRAINER]
        result = self.start_command([*trainer.MPIEXEC, 2, *limited, "--max-steps", 2, "--run-dir", "run"]).finish()
        self.judge_refusal(74, ["no space for a checkpoint in run/checkpoints", "needed"], result)
        self.assertEqual(self.saved_steps("run"), [])
        self.assertEqual(self.rows("run", "end")[-1]["code"], 74)

    def test_frozen_parameters_stay(self):
        """D13: bit for bit, in no bucket, without state, also after a resume."""
        words = ["--model", "cnn", "--freeze", "fc1.*", "--optimizer", "adam", "--weight-decay", 0.1, "--run-dir"]
        first = self.run_trainer(2, *words, "still", "--lr", 0, "--max-steps", 1)
        self.run_trainer(2, *words, "run", "--max-steps", 3)
        self.run_trainer(2, *words, "run", "--max-steps", 5)
        still, moved = self.checkpoint("still", 1), self.checkpoint("run", 5)
        names = trainer.dataset_names(moved)
        self.assertEqual([n for n in names if n.startswith("/optim/fc1.")], [])
        for name in (n for n in names if n.startswith("/model/")):
            same = trainer.raw_data(still, name) == trainer.raw_data(moved, name)
            self.assertEqual(same, name.startswith("/model/fc1."), name)
        trained = sum(len(trainer.raw_data(moved, n)) for n in names if n.startswith("/model/") and "fc1" not in n)
        self.assertIn(f"{trained // 4:,} trained parameters in 6 tensors", first.err)
        reduced = float(re.search(r"gradients +([0-9.]+) kB a step", first.err).group(1))
        self.assertLess(abs(reduced - trained / 1e3), 0.5, "padding of a bucket aside")
        self.run_trainer(1, "eval", "--checkpoint", moved, "--data", trainer.ROOT / "data/digits/test")


if __name__ == "__main__":
    trainer.main()
