# SPDX-License-Identifier: MIT
# Exact mode: the number of ranks changes no bit, also where a run goes on with another number of them.
import trainer

STEPS = 200 if trainer.LONG else 50
OPTIONS = ["--reduce", "exact", "--model", "cnn", "--model-option", "batchnorm=1", "--model-option", "dropout=0.5", "--optimizer", "adamw",
           "--lr", 0.002, "--clip-norm", 1, "--checkpoint-every", 0, "--eval-every", 0]


class Exact(trainer.Case):
    def test_any_power_of_two_of_ranks_gives_the_same_bytes(self):
        """BatchNorm, dropout, clipping, AdamW; short last steps of epochs; a resume 4 -> 2 -> 1 inside."""
        for np in (1, 2, 4, 8):
            self.run_trainer(np, *OPTIONS, "--max-steps", STEPS, "--run-dir", f"np{np}")
            self.assert_same_checkpoint(self.checkpoint(f"np{np}", STEPS), self.checkpoint("np1", STEPS))
            self.assertEqual(self.losses(f"np{np}"), self.losses("np1"))
        for np, until in ((4, STEPS // 3), (2, STEPS // 2), (1, STEPS)):
            self.run_trainer(np, *OPTIONS, "--max-steps", until, "--run-dir", "parts")
        self.assert_same_checkpoint(self.checkpoint("parts", STEPS), self.checkpoint("np1", STEPS))

    def test_what_does_not_fit_is_refused(self):
        self.refused(64, ["3 ranks do not divide --slots 8"], 3, "--reduce", "exact")
        self.refused(64, ["--slots 6", "a power of two"], 1, "--reduce", "exact", "--slots", 6)
        self.refused(64, ["--accumulate 2", "exclude each other"], 2, "--reduce", "exact", "--accumulate", 2)
        self.refused(64, ["--batch-norm sync", "exclude each other"], 2, "--reduce", "exact", "--batch-norm", "sync")


if __name__ == "__main__":
    trainer.main()
