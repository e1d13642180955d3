# SPDX-License-Identifier: MIT
# cmake --install into a new prefix: a program that finds its own data, from any folder.
import os
import pathlib
import subprocess

import trainer

BUILD = pathlib.Path(os.environ.get("TRAINER_BUILD", trainer.ROOT / "build/release"))


class Install(trainer.Case):
    def test_the_installed_trainer_runs_with_its_own_data(self):
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True, timeout=120)
        program = prefix / "bin/trainer"
        elsewhere = self.path("elsewhere")
        elsewhere.mkdir()
        job = self.start_command([*trainer.MPIEXEC, 2, program, "--max-steps", 3], cwd=elsewhere)
        result = job.finish()
        self.assertEqual(result.code, 0, result)
        self.assertIn(f"{prefix}/share/lockstep/data/digits/train: 1,500 samples", result.err)
        self.assertIn(f"{prefix}/share/lockstep/data/digits/test: 297 samples", result.err)
        self.assertEqual(self.saved_steps("elsewhere/runs/cnn-0001"), [3])
        self.assertEqual([p.name for p in prefix.rglob("*.py")], [])


if __name__ == "__main__":
    trainer.main()
