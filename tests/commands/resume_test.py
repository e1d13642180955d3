# SPDX-License-Identifier: MIT
# A run that was stopped and continued is the run that was not: checkpoints byte for byte, metrics and samples row by row.
import trainer

ADAMW = ["--optimizer", "adamw", "--lr", 0.002, "--weight-decay", 0.01]


class Resume(trainer.Case):
    def without_times(self, run, event="step"):
        return [{k: v for k, v in row.items() if k not in ("ms", "data_wait_ms", "stall_ms")} for row in self.rows(run, event)]

    def assert_same_run(self, left, right, step):
        self.assert_same_checkpoint(self.checkpoint(left, step), self.checkpoint(right, step))
        self.assertEqual([row["step"] for row in self.rows(left)], list(range(1, step + 1)))
        self.assertEqual(self.without_times(left), self.without_times(right))

    def test_forty_steps_equal_seventeen_thirteen_and_ten(self):
        """S06, S07: stops in the middle of epochs 0 and 1. L09: 17 is no multiple of any interval. C06: AdamW's state."""
        options = ["--model", "cnn", *ADAMW, "--dump-samples", "--seed", 3]
        self.run_trainer(2, *options, "--max-steps", 40, "--run-dir", "whole")
        intervals = ["--checkpoint-every", 5, "--log-every", 4, "--eval-every", 6]
        self.run_trainer(2, *options, "--max-steps", 17, *intervals, "--run-dir", "parts")
        self.assertEqual(self.saved_steps("parts"), [15, 17])
        self.assertEqual(self.rows("parts")[-1]["step"], 17)
        self.assertEqual([row["step"] for row in self.rows("parts", "eval")], [6, 12, 17])
        self.assertEqual(self.rows("parts", "end")[0]["code"], 0)
        finished = self.run_trainer(2, *options, "--max-steps", 17, "--run-dir", "parts")
        self.assertIn("is finished: step 17 of 17", finished.out)
        self.assertEqual(self.rows("parts")[-1]["step"], 17, "a finished run writes nothing")
        resumed = self.run_trainer(2, *options, "--max-steps", 30, "--run-dir", "parts")
        self.assertIn("step-00000017.h5, step 17, epoch 0", resumed.err)
        self.run_trainer(2, *options, "--max-steps", 40, "--run-dir", "parts")
        self.assert_same_run("parts", "whole", 40)
        self.assertEqual(self.sample_lists("parts"), self.sample_lists("whole"))
        self.assertEqual(self.without_times("parts", "epoch"), self.without_times("whole", "epoch"))

    def test_momentum_and_a_late_epoch(self):
        """S07: stopped in the middle of epoch 2. C06: SGD's momentum. The schedule goes on where it was."""
        options = ["--batch-size", 500, "--optimizer", "sgd", "--momentum", 0.9, "--lr-schedule", "step", "--lr-step", "2e,0.5",
                   "--warmup-steps", 5, "--epochs", 4, "--dump-samples", "--run-dir"]
        self.run_trainer(2, *options, "whole")
        self.run_trainer(2, *options, "parts", "--max-steps", 7)
        self.run_trainer(2, *options, "parts")
        self.assert_same_run("parts", "whole", 12)
        ids = self.samples("parts")
        self.assertEqual(ids, self.samples("whole"))
        epochs = [ids[s] + ids[s + 1] + ids[s + 2] for s in (1, 4, 7, 10)]
        self.assertEqual([sorted(e) for e in epochs], [list(range(1500))] * 4)
        self.assertEqual(len({tuple(e) for e in epochs}), 4, "four orders")
        self.assertIn("/optim/fc1.weight/momentum_buffer", trainer.dataset_names(self.checkpoint("parts", 12)))

    def test_another_number_of_ranks_goes_on_with_the_samples_left(self):
        """S09: saved by 4 ranks in the middle of an epoch, continued by 2 and by 1."""
        options = ["--optimizer", "sgd", "--momentum", 0, "--batch-size", 96, "--dump-samples", "--run-dir", "run"]
        self.run_trainer(4, *options, "--max-steps", 6)
        before = self.checkpoint("run", 6).read_bytes()
        self.run_trainer(2, *options, "--max-steps", 11)
        self.assertEqual(self.checkpoint("run", 6).read_bytes(), before)
        self.run_trainer(1, *options, "--max-steps", 16)
        ids = self.samples("run")
        self.assertEqual(sorted(i for step in range(1, 17) for i in ids[step]), list(range(1500)))
        self.run_trainer(1, "--optimizer", "sgd", "--momentum", 0, "--batch-size", 96, "--max-steps", 16, "--run-dir", "whole")
        for a, b in zip(self.losses("run"), self.losses("whole"), strict=True):
            self.assertLess(abs(a - b), 1e-5 * b)

    def test_epochs_and_steps_count_on_after_a_finished_epoch(self):
        """C16: no number is used twice, the epoch comes from the file. S09, C16: another batch only where it is allowed."""
        options = ["--batch-size", 500, "--run-dir", "run"]
        self.run_trainer(1, *options, "--max-steps", 9, "--keep", 0)
        self.run_trainer(1, *options, "--max-steps", 10, "--keep", 0)
        self.assertEqual([row["epoch"] for row in self.rows("run")], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3])
        self.assertEqual([row["epoch"] for row in self.rows("run", "epoch")], [0, 1, 2])
        self.assertEqual(self.saved_steps("run"), [3, 6, 9, 10])
        other = ["--batch-size", 250, "--run-dir", "run", "--max-steps", 16, "--keep", 0]
        refused = self.refused(78, ["batch-size", "500", "250", "--allow-change batch-size"], 2, *other)
        self.assertIn("this run differs from the checkpoint", refused.err)
        self.run_trainer(1, *other, "--allow-change", "batch-size")
        rows = self.rows("run")[10:]
        self.assertEqual([row["step"] for row in rows], list(range(11, 17)))
        self.assertEqual([row["epoch"] for row in rows], [3, 3, 3, 3, 4, 4], "1000 samples were left of epoch 3")

    def test_the_seed_reaches_samples_and_weights(self):
        """S12: seeds 1, 2, 1, and none: then the default, the same on all ranks, printed and stored."""
        for run, words in (("a", ["--seed", 1]), ("b", ["--seed", 2]), ("c", ["--seed", 1]), ("d", [])):
            self.run_trainer(2, *words, "--max-steps", 2, "--dump-samples", "--run-dir", run)
        self.assert_same_checkpoint(self.checkpoint("a", 2), self.checkpoint("c", 2))
        self.assertEqual(self.samples("a"), self.samples("c"))
        self.assertNotEqual(self.samples("a"), self.samples("b"))
        self.assertNotEqual(self.losses("a")[0], self.losses("b")[0])
        self.assert_same_checkpoint(self.checkpoint("a", 2), self.checkpoint("d", 2))
        self.assertRegex(self.path("d", "config.ini").read_text(), r"(?m)^seed = 1$")
        self.assertRegex(self.run_trainer(0, "info", self.checkpoint("d", 2)).out, r"/meta/options/seed +1\b")


if __name__ == "__main__":
    trainer.main()
