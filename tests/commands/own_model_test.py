# SPDX-License-Identifier: MIT
# A program with a model of its own, through lockstep::run: it trains, resumes and evaluates like a built-in; and a rank that
# throws in forward or backward, while the others wait in a reduction, ends the job with its message.
import os
import pathlib

import trainer

PROGRAM = pathlib.Path(os.environ.get("TRAINER_BUILD", trainer.ROOT / "build/release")) / "tests/own_model"


class OwnModel(trainer.Case):
    def run_own(self, np, *words, limit=trainer.LIMIT_S):
        return self.start_command([*trainer.MPIEXEC, np, PROGRAM, *words], limit=limit).finish()

    def test_an_own_model_trains_and_evaluates_like_a_built_in(self):
        result = self.run_own(2, "--model", "own", "--max-steps", 30, "--run-dir", "run")
        self.assertEqual(result.code, 0, result)
        self.assertLess(self.losses("run")[-1], self.losses("run")[0])
        data = trainer.ROOT / "data/digits/test"
        evaluated = self.run_own(2, "eval", "--checkpoint", "run", "--data", data)
        self.assertEqual(evaluated.code, 0, evaluated)
        self.refused(78, ["'own' is not known"], 1, "eval", "--checkpoint", "run", "--data", data)

    def test_a_rank_that_throws_ends_the_job_with_its_message(self):
        """L01: in forward and in backward, at np 2 and 4; nobody is left waiting in a bucket."""
        for np, rank, phase, name in ((2, 1, 0, "forward"), (2, 0, 1, "backward"), (4, 3, 0, "forward"), (4, 2, 1, "backward")):
            with self.subTest(np=np, phase=name):
                result = self.run_own(np, "--model", "own", "--model-option", f"rank={rank}", "--model-option", "step=3",
                                      "--model-option", f"phase={phase}", limit=30)
                self.assertEqual(result.code, 70, result)
                self.assertIn(f"[rank {rank}] step 3, {name}: planned fault in {name}", result.err, result)
                self.assertLess(result.seconds, 15, result)


if __name__ == "__main__":
    trainer.main()
