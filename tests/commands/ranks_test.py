# SPDX-License-Identifier: MIT
# The same run on any number of ranks: losses, samples, gradients, parameters. Compared where rounding does not grow: plain
# SGD over some steps, or one step of AdamW.
import trainer

SGD = ["--optimizer", "sgd", "--lr", 0.01, "--momentum", 0]
COUNTS = (1, 2, 3, 4)


class Ranks(trainer.Case):
    def assert_close(self, left, right, limit, what):
        for step, (a, b) in enumerate(zip(left, right, strict=True), 1):
            self.assertLessEqual(abs(a - b), limit * abs(b), f"{what}, step {step}: {a} and {b}")

    def assert_parameters_close(self, left, right, limit=1e-6):
        names = [n for n in trainer.dataset_names(right) if n.startswith("/model/")]
        self.assertTrue(names)
        for name in names:
            difference = trainer.relative_difference(trainer.floats(left, name), trainer.floats(right, name))
            self.assertLess(difference, limit, f"{name} of {left}")

    def test_losses_and_samples_of_sixty_steps(self):
        """D26, S01, S11, F02: the same lists of samples, joined in the order of the ranks; each once an epoch; all counted."""
        seed = self.assert_losses_agree_over_ranks(COUNTS, [
            "--model", "cnn", "--batch-size", 96, *SGD, "--max-steps", 60, "--dump-samples", "--eval-every", 0])
        one = f"np1-{seed}"
        alone = self.samples(one)
        per_epoch = -(-1500 // 96)
        self.assertEqual(sorted(alone), list(range(1, 61)))
        first, second = ([i for step in range(begin, begin + per_epoch) for i in alone[step]] for begin in (1, 1 + per_epoch))
        self.assertEqual(sorted(first), list(range(1500)))
        self.assertEqual(sorted(second), list(range(1500)))
        self.assertNotEqual(first, second)
        for np in COUNTS:
            run = f"np{np}-{seed}"
            self.assertEqual(len(self.losses(run)), 60)
            self.assertEqual(self.samples(run), alone, run)
            self.assertEqual([len(part) for part in self.sample_lists(run)], [60] * np, "every rank takes every step")
            self.assertEqual([row["samples"] for row in self.rows(run)], [len(alone[s]) for s in sorted(alone)])
            self.assertEqual(self.rows(run, "end")[0]["samples"], sum(map(len, alone.values())))
            self.assertEqual(self.rows(run, "epoch"), self.rows(one, "epoch"), "the digests of the ids")
            self.assertEqual(self.rows(run, "eval")[0]["samples"], 297)
        self.assertLess(sum(self.losses(one)[-10:]), sum(self.losses(one)[:10]), "it learns")

    def test_gradients_of_the_first_step(self):
        """exp_avg after one step of AdamW is the gradient times 1 - beta1."""
        for np in COUNTS:
            self.run_trainer(np, "--model", "cnn", "--batch-size", 96, "--optimizer", "adamw", "--max-steps", 1,
                             "--run-dir", f"np{np}")
        names = [n for n in trainer.dataset_names(self.checkpoint("np1", 1)) if n.endswith("/exp_avg")]
        self.assertEqual(len(names), 8)
        for name in names:
            alone = trainer.floats(self.checkpoint("np1", 1), name)
            self.assertGreater(max(map(abs, alone)), 0, name)
            for np in COUNTS[1:]:
                difference = trainer.relative_difference(trainer.floats(self.checkpoint(f"np{np}", 1), name), alone)
                self.assertLess(difference, 1e-6, f"{name} with {np} ranks")

    def test_initial_parameters_do_not_depend_on_the_ranks(self):
        """D21: a step with rate 0 leaves the parameters as they were made."""
        for np in (1, 2, 4):
            self.run_trainer(np, "--batch-size", 8, "--optimizer", "sgd", "--momentum", 0, "--lr", 0, "--max-steps", 1,
                             "--run-dir", f"np{np}")
        self.assert_same_checkpoint(self.checkpoint("np2", 1), self.checkpoint("np1", 1))
        self.assert_same_checkpoint(self.checkpoint("np4", 1), self.checkpoint("np1", 1))

    def test_the_mean_is_over_the_global_batch(self):
        """D01, D07: eight samples a step, however they are dealt over ranks and micro-steps."""
        self.pack("toy", 8)
        for name, np, per_device, accumulate in (("one", 1, 8, 1), ("two", 2, 4, 1), ("four", 4, 2, 1), ("micro", 1, 2, 4),
                                                 ("both", 2, 2, 2)):
            result = self.run_trainer(np, "--data", "toy", *SGD, "--batch-per-device", per_device, "--accumulate", accumulate,
                                      "--shuffle", "none", "--max-steps", 3, "--run-dir", name)
            self.assertIn("8 samples a step", result.err)
            if name != "one":
                self.assert_close(self.losses(name), self.losses("one"), 1e-6, name)
                self.assert_parameters_close(self.checkpoint(name, 3), self.checkpoint("one", 3))
        self.assertNotEqual(self.losses("one")[0], self.losses("one")[1])

    def test_a_shorter_last_step_is_the_mean_of_its_samples(self):
        """D05: 14 samples, 8 a step in 4 micro-steps: the second step has 6. K04, D03: 9 samples on 2 and 4 ranks, 2 epochs."""
        self.pack("fourteen", 14)
        for name, np, accumulate in (("plain", 1, 1), ("micro", 1, 4), ("ranks", 2, 4)):
            self.run_trainer(np, "--data", "fourteen", *SGD, "--batch-size", 8, "--accumulate", accumulate, "--epochs", 2,
                             "--run-dir", name)
            self.assertEqual([row["samples"] for row in self.rows(name)], [8, 6, 8, 6])
            self.assert_close(self.losses(name), self.losses("plain"), 1e-6, name)
            norms, wanted = ([row["grad_norm"] for row in self.rows(run)] for run in (name, "plain"))
            self.assert_close(norms, wanted, 1e-5, name)
        self.pack("six", 6)
        for name, batch, accumulate in (("exact", 6, 1), ("short", 8, 1), ("windows", 8, 4)):
            self.run_trainer(1, "--data", "six", *SGD, "--batch-size", batch, "--accumulate", accumulate, "--epochs", 3,
                             "--run-dir", name)
            self.assert_close(self.losses(name), self.losses("exact"), 1e-6, "6 samples where 8 are a full step")
        self.pack("nine", 9)
        for np in (1, 2, 4):
            self.run_trainer(np, "--data", "nine", "--eval-data", "nine", *SGD, "--batch-size", 8, "--epochs", 2, "--run-dir",
                             f"nine{np}", "--dump-samples")
            self.assertEqual([row["samples"] for row in self.rows(f"nine{np}")], [8, 1, 8, 1])
            self.assertEqual([row["samples"] for row in self.rows(f"nine{np}", "eval")], [9, 9])
            self.assertEqual({len(part) for part in self.sample_lists(f"nine{np}")}, {4}, "every rank takes every step")
            self.assert_close(self.losses(f"nine{np}"), self.losses("nine1"), 1e-5, f"nine{np}")


if __name__ == "__main__":
    trainer.main()
