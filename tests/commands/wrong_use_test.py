# SPDX-License-Identifier: MIT
# Wrong use: each ends with one message that names the value and what is allowed, its documented code, and no process left.
import concurrent.futures
import shutil

import trainer


class WrongUse(trainer.Case):
    def refuse_all(self, cases, np):
        """Many cheap refusals, two at a time: (code, texts, words). The folder stays as it is."""
        before = sorted(p.name for p in self.folder.iterdir())
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(lambda case: self.start(np, *case[2], limit=60).finish(), cases)
            for (code, texts, words), result in zip(cases, results):
                with self.subTest(words=words):
                    self.judge_refusal(code, texts, result)
                    self.assertEqual(result.out, "", result)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before, "refused before a file is made")

    def test_unknown_names_show_the_nearest(self):
        """K01, L02: once with 4 ranks, the same code as without the launcher."""
        for np in (0, 4):
            self.refused(64, ["unknown option --batchsize", "did you mean batch-size"], np, "--batchsize", 32)
        self.refuse_all([
            (64, ["unknown command 'evall'", "eval"], ["evall"]),
            (64, ["--batch-size"], ["--batch-size="]),
            (64, ["--lr", "is missing"], ["--lr"]),
            (64, ["--lr is given 2 times (0.1, 0.2)"], ["--lr", 0.1, "--lr", 0.2]),
            (64, ["'now' is one word too many"], ["train", "now"]),
            (64, ["unknown option --batch;"], ["--batch", 32]),
        ], 0)

    def test_impossible_values(self):
        """K03, K05: option, value, what is allowed; 64; nothing is made."""
        values = {
            "batch-size": [0, -4, "4.5", 99999999999, "0x10"], "lr": ["nan", "inf", "-1", "1e-3x"], "epochs": [0, -1],
            "accumulate": [0], "clip-norm": ["nan", "-1", "none", "off"], "warmup-steps": [-1], "checkpoint-every": [-1, "5x"],
            "momentum": ["1.5"], "seed": [-1], "keep": [-1], "max-steps": [-1], "threads": [-2], "optimizer": ["sgdd"],
        }
        self.refuse_all([(64, [f"--{name}: '{value}' is not possible", "allowed:"], [f"--{name}={value}"])
                         for name, all_values in values.items() for value in all_values], 0)

    def test_values_that_do_not_go_together(self):
        """K04, K05, S05, D12: refused before the first step, with the numbers."""
        self.pack("six", 6)
        self.refuse_all([
            (64, ["--batch-size", "--batch-per-device"], ["--batch-size", 8, "--batch-per-device", 4]),
            (64, ["--accumulate 8", "--batch-size is 4"], ["--batch-size", 4, "--accumulate", 8]),
            (78, ["no trainable parameters", "matched 8 of 8"], ["--freeze", ".*"]),
            (78, ["matches no parameter"], ["--freeze", "conv9.*"]),
            (66, ["absent.h5"], ["--resume", "absent.h5", "--run-dir", "elsewhere/run"]),
        ], 2)
        result = self.start(2, "--data", "six", "--batch-size", 8, "--tail", "drop", "--epochs", 2).finish()
        self.assertIn(result.code, (64, 65, 78), result)
        self.judge_refusal(result.code, ["6", "8"], result)

    def test_data_that_cannot_be_used(self):
        """H02, H14, S05: found at the start, by all ranks, with the file."""
        whole = trainer.ROOT / "data/digits/train"
        for name in ("cut", "mixed"):
            shutil.copytree(whole, self.path(name))
        cut = self.path("cut", "digits-00002-of-00004.h5")
        with open(cut, "r+b") as file:
            file.truncate(cut.stat().st_size - 100)
        self.path("mixed", "index.json").unlink()
        self.pack("wide", 10, side=12)
        shutil.copy(self.path("wide", "toy-00000-of-00001.h5"), self.path("mixed", "z.h5"))
        self.pack("labels", 10, labels=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        self.pack("few", 10, labels=[0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
        self.refuse_all([
            (66, ["nowhere"], ["--data", "nowhere"]),
            (66, ["nowhere"], ["--data", "labels", "--eval-data", "nowhere"]),
            (65, ["digits-00002-of-00004.h5"], ["--data", "cut"]),
            (65, ["mixed/z.h5", "1, 12, 12", "1, 8, 8"], ["--data", "mixed"]),
            (65, ["labels/toy-00000-of-00001.h5", "the label", "legal are 0 to 4"], ["--data", "few", "--eval-data", "labels"]),
        ], 2)

    def test_configuration_files(self):
        """K01: line, key, nearest name; 78 for the file; a variable that is no option is a warning."""
        self.path("typo.ini").write_text("# a comment\nlr = 0.1\nleraning-rate = 0.5\n")
        self.path("near.ini").write_text("num-epochs = 3\n")
        self.path("twice.ini").write_text("lr = 0.1\nepochs = 2\nlr = 0.2\n")
        self.path("empty.ini").write_text("lr =\n")
        self.path("value.ini").write_text("batch-size = -4\n")
        self.refused(78, ["typo.ini:3", "leraning-rate"], 4, "--config", "typo.ini")
        self.refuse_all([
            (78, ["near.ini:1", "num-epochs", "did you mean epochs"], ["--config", "near.ini"]),
            (78, ["twice.ini:3", "already set in line 1"], ["--config", "twice.ini"]),
            (78, ["empty.ini:1", "lr has no value"], ["--config", "empty.ini"]),
            (78, ["value.ini:1", "'-4' is not possible"], ["--config", "value.ini"]),
            (78, ["absent.ini"], ["--config", "absent.ini"]),
        ], 0)
        result = self.run_trainer(0, "--dry-run", env={"LOCKSTEP_LERANING_RATE": "1", "LOCKSTEP_LR": "0.25"})
        self.assertIn("LOCKSTEP_LERANING_RATE", result.err)
        self.assertIn("lr = 0.25 (environment)", result.err)
        self.refused(78, ["LOCKSTEP_LR", "'fast'"], 0, "--dry-run", env={"LOCKSTEP_LR": "fast"})

    def test_a_checkpoint_that_does_not_fit(self):
        """C09, K01: another model, another rate: 78 with both values, unless it is allowed."""
        self.run_trainer(1, "--max-steps", 2, "--run-dir", "run")
        words = ["--max-steps", 4, "--run-dir", "run"]
        before = self.path("run", "metrics.jsonl").read_bytes()
        self.refused(78, ["model", "cnn", "mlp", "--allow-change model"], 2, *words, "--model", "mlp")
        self.refused(78, ["lr", "0.01", "0.02", "--allow-change lr"], 2, *words, "--lr", 0.02)
        self.refused(78, ["--allow-change lr,seed"], 2, *words, "--lr", 0.02, "--momentum", 0.5, "--seed", 2, "--allow-change",
                     "momentum")
        self.refused(65, ["conv1.weight", "layers.0.weight"], 2, *words, "--model", "mlp", "--allow-change", "model")
        self.assertEqual(self.path("run", "metrics.jsonl").read_bytes(), before, "a refusal leaves the run alone")
        self.run_trainer(2, *words, "--lr", 0.02, "--allow-change", "lr")
        self.assertEqual([row["lr"] for row in self.rows("run")], [0.01, 0.01, 0.02, 0.02])

    def test_ranks_that_think_they_are_alone(self):
        """The mpirun of another MPI: it says 4, this program sees 1."""
        for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"):
            self.refused(64, [f"{name}=4", "mpirun"], 0, env={name: "4", "PMI_RANK": "0"})

    def test_ranks_started_with_different_options(self):
        """D20: one message with the option, both values and the rank; under 10 s."""
        self.run_trainer(1, "--max-steps", 1, "--run-dir", "run")
        for left, right, texts in (
                (["--model", "mlp", "--model-option", "hidden=64"], ["--model", "mlp", "--model-option", "hidden=65"],
                 ["--model-option", "hidden=64", "hidden=65"]),
                (["--batch-size", 8], ["--batch-size", 9], ["--batch-size", "'8'", "'9'"]),
                (["--seed", 1], ["--seed", 2], ["--seed", "'1'", "'2'"]),
                (["--accumulate", 1], ["--accumulate", 2], ["--accumulate"]),
                (["--run-dir", "left"], ["--run-dir", "right"], ["--run-dir", "left", "right"]),
                (["--epochs", 2], ["--nonsense", 2], ["--nonsense"])):
            launch = [*trainer.MPIEXEC, 1, trainer.TRAINER, *left, ":", trainer.MPIEXEC[-1], 1, trainer.TRAINER, *right]
            result = self.start_command(launch, limit=30).finish()
            self.judge_refusal(64 if "--nonsense" in right else 78, [*texts, "[rank 1]"], result)
        logging = [*trainer.MPIEXEC, 1, trainer.TRAINER, "--dry-run", ":", trainer.MPIEXEC[-1], 1, trainer.TRAINER, "--dry-run",
                   "--progress", "none"]
        self.assertEqual(self.start_command(logging).finish().code, 0, "what only one rank prints is its own business")


if __name__ == "__main__":
    trainer.main()
