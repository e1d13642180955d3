# SPDX-License-Identifier: MIT
# The run folder: made once, locked, never overwritten; places that cannot be.
import os
import re

import trainer


class RunFolder(trainer.Case):
    def test_deep_folders_are_made_once(self):
        """C11: no race between ranks."""
        for attempt in range(30 if trainer.LONG else 3):
            self.run_trainer(4, "--max-steps", 1, "--dump-samples", "--run-dir", f"new{attempt}/deep/path")
            self.assertEqual(self.saved_steps(f"new{attempt}/deep/path"), [1])

    def test_places_that_cannot_be(self):
        """C11, L02: 73, path and reason, one message, before training."""
        self.path("file").write_text("not a folder")
        for np, place in ((4, "file/run"), (2, "file"), (1, "/proc/x")):
            result = self.refused(73, [place], np, "--max-steps", 1, "--run-dir", place)
            self.assertNotIn("step 1", result.err)
        self.assertEqual(self.path("file").read_text(), "not a folder")

    def test_a_used_folder_is_never_started_anew(self):
        self.run_trainer(2, "--max-steps", 2, "--run-dir", "run")
        before = {p: p.read_bytes() for p in self.path("run").rglob("*") if p.is_file() and p.name != "lock"}
        self.refused(73, ["run holds a run already", "--run-dir"], 2, "--max-steps", 2, "--run-dir", "run", "--resume", "never")
        finished = self.run_trainer(2, "--max-steps", 2, "--run-dir", "run")
        self.assertIn("is finished: step 2 of 2", finished.out)
        for path, content in before.items():
            self.assertEqual(path.read_bytes(), content, path)

    def test_two_runs_in_one_folder(self):
        """The second is told who has it: 73. When the first has gone, however it went, the folder is free."""
        job = self.start(2, "--epochs", 1000, "--checkpoint-every", 2, "--eval-every", 0, "--run-dir", "run")
        self.wait_for_step(job, "run", 3)
        owner = job.ranks(2)[0]
        self.refused(73, ["run is in use by another run", f"process {owner}", os.uname().nodename], 2, "--run-dir", "run")
        job.kill()
        job.finish()
        saved = self.saved_steps("run")[-1]
        self.run_trainer(2, "--epochs", 1000, "--max-steps", saved + 1, "--run-dir", "run")
        self.assertEqual(self.saved_steps("run")[-1], saved + 1)

    def test_a_checkpoint_by_its_path_starts_another_run(self):
        self.run_trainer(1, "--max-steps", 3, "--run-dir", "a")
        result = self.run_trainer(2, "--max-steps", 5, "--resume", self.checkpoint("a", 3), "--run-dir", "b")
        self.assertEqual([row["step"] for row in self.rows("b")], [4, 5])
        self.assertEqual(self.saved_steps("b"), [5])
        self.assertNotIn("no manifest", result.err)
        lone = self.path("lone.h5")
        lone.write_bytes(self.checkpoint("a", 3).read_bytes())
        result = self.run_trainer(1, "--max-steps", 4, "--resume", lone, "--run-dir", "c")
        self.assertEqual(len(re.findall("no manifest beside it", result.err)), 1, result)


if __name__ == "__main__":
    trainer.main()
