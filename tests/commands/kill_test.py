# SPDX-License-Identifier: MIT
# Ranks that die: the job is over at once, a checkpoint is there, and the run goes on from it as if nothing had been.
# timeout: 900
import os
import random
import shutil
import signal
import time

import trainer


class Kill(trainer.Case):
    def test_a_killed_rank_ends_the_job_and_the_run_resumes(self):
        """L01, L02: 137 through mpirun, over within 5 s, no process left. Then on from the newest checkpoint, byte for byte."""
        options = ["--model", "cnn", "--optimizer", "adamw", "--lr", 0.002, "--checkpoint-every", 5, "--eval-every", 0,
                   "--epochs", 1000]
        job = self.start(2, *options, "--run-dir", "run")
        self.wait_for_step(job, "run", 12)
        os.kill(job.ranks(2)[1], signal.SIGKILL)
        killed = time.monotonic()
        result = job.finish()
        self.assertLess(time.monotonic() - killed, 5, result)
        self.assertEqual(result.code, 137, result)
        self.assertNotIn("done |", result.out)
        saved = self.saved_steps("run")[-1]
        self.assertEqual(saved % 5, 0)
        end = saved + 7
        resumed = self.run_trainer(2, *options, "--max-steps", end, "--run-dir", "run")
        self.assertIn(f"step-{saved:08d}.h5, step {saved},", resumed.err)
        self.run_trainer(2, *options, "--max-steps", end, "--run-dir", "whole")
        self.assert_same_checkpoint(self.checkpoint("run", end), self.checkpoint("whole", end))
        self.assertEqual(self.losses("run"), self.losses("whole"), "rows of steps that were lost are cut away")
        self.assertEqual([row["step"] for row in self.rows("run")], list(range(1, end + 1)))

    def test_kills_at_random_moments_leave_a_good_checkpoint(self):
        """C02, C05: a save every step, one kept, ranks killed at any moment, also in the middle of a save."""
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        options = ["--model", "mlp", "--model-option", "hidden=1024,1024", "--checkpoint-every", 1, "--keep", 1, "--epochs",
                   1000, "--eval-every", 0, "--run-dir", "run"]
        newest = 0
        for attempt in range(20 if trainer.LONG else 3):
            with self.subTest(seed=seed, attempt=attempt):
                job = self.start(2, *options)
                self.wait_for_step(job, "run", newest + 2)
                time.sleep(chance.uniform(0, 0.1))
                ranks = job.ranks(2)
                for rank in ([0], [1], [0, 1])[attempt % 3]:
                    os.kill(ranks[rank], signal.SIGKILL)
                self.assertEqual(job.finish().code, 137)
                self.assertTrue(self.saved_steps("run"))
                self.assertGreater(self.saved_steps("run")[-1], newest)
                newest = self.saved_steps("run")[-1]
                self.assertIn("verified against", self.run_trainer(1, "info", self.checkpoint("run", newest)).out)
        result = self.run_trainer(2, *options, "--max-steps", newest + 2)
        self.assertIn(f"step {newest},", result.err)
        self.assertEqual(sorted(p.name for p in self.path("run", "checkpoints").iterdir()),
                         ["latest", f"step-{newest + 2:08d}.h5", f"step-{newest + 2:08d}.json"], "nothing half written stays")

    def test_a_save_every_step_ends_well(self):
        """C01: no rank waits in another barrier. C05: the two newest stay."""
        for np in (2, 4) * (10 if trainer.LONG else 1):
            run = f"np{np}"
            result = self.run_trainer(np, "--model", "mlp", "--checkpoint-every", 1, "--max-steps", 20, "--keep", 2,
                                      "--run-dir", run)
            self.assertEqual(self.saved_steps(run), [19, 20], result)
            self.assertEqual([row["step"] for row in self.rows(run, "checkpoint")], list(range(1, 21)))
            self.assertEqual(self.path(run, "checkpoints/latest").read_text().strip(), "step-00000020.h5")
            for step in (19, 20):
                self.assertIn("verified against", self.run_trainer(0, "info", self.checkpoint(run, step)).out)
            shutil.rmtree(self.path(run))

    def test_a_damaged_checkpoint_is_refused_by_name(self):
        """C02: the newest that verifies; never a fresh start in silence."""
        options = ["--model", "mlp", "--keep", 0, "--checkpoint-every", 2, "--run-dir", "run", "--max-steps"]
        self.run_trainer(2, *options, 4)
        with open(self.checkpoint("run", 4), "r+b") as file:
            file.truncate(1000)
        result = self.run_trainer(2, *options, 6)
        self.assertIn("checkpoint refused: step-00000004.h5", result.err)
        self.assertIn("step-00000002.h5, step 2", result.err)
        for path in self.path("run", "checkpoints").glob("*.h5"):
            path.write_bytes(b"")
        self.refused(65, ["no checkpoint in run/checkpoints can be used", "step-00000006.h5"], 2, *options, 8)


if __name__ == "__main__":
    trainer.main()
