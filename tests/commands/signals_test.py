# SPDX-License-Identifier: MIT
# Signals set a flag; all ranks act on it at the same step boundary.
import os
import re
import signal

import trainer

OPTIONS = ["--model", "cnn", "--optimizer", "adamw", "--eval-every", 0, "--checkpoint-every", 0]


class Signals(trainer.Case):
    def test_usr1_saves_the_present_step_and_stops(self):
        """L06, L02: to mpirun, which passes it on; code 85; the resumed run is the run that was not stopped."""
        job = self.start(2, *OPTIONS, "--epochs", 1000, "--run-dir", "run")
        self.wait_for_step(job, "run", 5)
        job.process.send_signal(signal.SIGUSR1)
        result = job.finish()
        self.assertEqual(result.code, 85, result)
        stopped = int(re.search(r"signal at step (\d+), checkpoint written", result.out).group(1))
        self.assertEqual(self.saved_steps("run"), [stopped])
        self.assertEqual(self.rows("run")[-1]["step"], stopped)
        self.assertEqual(self.rows("run", "end")[-1]["code"], 85)
        self.assertIn("resume with", result.out)
        self.run_trainer(2, *OPTIONS, "--epochs", 1000, "--max-steps", stopped + 5, "--run-dir", "run")
        self.run_trainer(2, *OPTIONS, "--epochs", 1000, "--max-steps", stopped + 5, "--run-dir", "whole")
        self.assertEqual(self.losses("run"), self.losses("whole"))
        self.assert_same_checkpoint(self.checkpoint("run", stopped + 5), self.checkpoint("whole", stopped + 5))

    def test_term_stops_at_once_and_says_whether_there_is_a_checkpoint(self):
        """L06: to the ranks, as a batch system does it. 75 without a checkpoint, 85 with one; no save is started."""
        job = self.start(2, *OPTIONS, "--epochs", 1000, "--run-dir", "run")
        self.wait_for_step(job, "run", 5)
        for pid in job.ranks(2).values():
            os.kill(pid, signal.SIGTERM)
        result = job.finish()
        self.assertEqual(result.code, 75, result)
        self.assertIn("there is no checkpoint", result.out)
        self.assertEqual(self.saved_steps("run"), [])

        often = [*OPTIONS[:-1], 4]
        job = self.start(2, *often, "--epochs", 1000, "--run-dir", "again")
        self.wait_for_step(job, "again", 5)
        os.kill(job.ranks(2)[1], signal.SIGTERM)  # one rank's wish is everybody's
        result = job.finish()
        self.assertEqual(result.code, 85, result)
        saved = self.saved_steps("again")[-1]
        self.assertIn(f"the newest checkpoint is of step {saved}", result.out)
        self.assertEqual(saved % 4, 0)
        end = saved + 3
        self.run_trainer(2, *OPTIONS, "--epochs", 1000, "--max-steps", end, "--run-dir", "again")
        self.run_trainer(2, *OPTIONS, "--epochs", 1000, "--max-steps", end, "--run-dir", "whole")
        self.assert_same_checkpoint(self.checkpoint("again", end), self.checkpoint("whole", end))

    def test_usr2_saves_and_goes_on_also_when_it_comes_twice(self):
        """L06: a second signal during the save does not spoil it."""
        job = self.start(2, *OPTIONS, "--epochs", 1000, "--keep", 0, "--run-dir", "run")
        self.wait_for_step(job, "run", 5)
        for _ in range(3):
            job.process.send_signal(signal.SIGUSR2)
        first = job.until(lambda: self.saved_steps("run"), "a checkpoint")[0]
        self.wait_for_step(job, "run", first + 5)
        job.process.send_signal(signal.SIGUSR1)
        job.process.send_signal(signal.SIGUSR2)
        self.assertEqual(job.finish().code, 85)
        last = self.saved_steps("run")[-1]
        self.assertGreater(last, first)
        self.assertIn("verified against", self.run_trainer(2, "info", self.checkpoint("run", first)).out)
        self.assertIn("verified against", self.run_trainer(2, "info", self.checkpoint("run", last)).out)


if __name__ == "__main__":
    trainer.main()
