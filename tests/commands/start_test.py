# SPDX-License-Identifier: MIT
# What the program says and does before the first step: no argument at all, help, the start table, the configuration.
import os
import re

import trainer


class Start(trainer.Case):
    def table_of_ranks(self, err):
        """The start table's rows: rank, host, node, local, device, cores, threads."""
        rows = err[err.index("rank  host"):].splitlines()[1:]
        return [row.split() for row in rows if re.match(r"\s+\d+\s", row)]

    def line(self, err, name):
        """A line of the start report without its name."""
        return re.search(rf"^\s*{name}\s+(.*)$", err, re.M).group(1)

    def test_eight_ranks_train_with_no_argument_but_a_number_of_steps(self):
        """L03: more ranks than cores; L04: as root or not, whoever runs the tests. F04: the start table."""
        result = self.run_trainer(8, "--max-steps", 20, limit=60)
        self.assertEqual([p.name for p in self.path("runs").iterdir()], ["cnn-0001"])
        self.assertEqual([row["step"] for row in self.rows("runs/cnn-0001")], list(range(1, 21)))
        self.assertEqual(self.saved_steps("runs/cnn-0001"), [20])
        self.assertRegex(result.out, r"^done \| step 20 \|")
        self.assertRegex(result.out, r"test accuracy 0\.\d+ \(\d+ of 297\)")
        ranks = self.table_of_ranks(result.err)
        self.assertEqual([row[0] for row in ranks], [str(r) for r in range(8)], result)
        self.assertIn("64 samples a step = 8 ranks x 8", result.err)
        # Once more: the next free folder, nothing overwritten.
        self.run_trainer(1, "--max-steps", 1)
        self.assertEqual(self.saved_steps("runs/cnn-0001"), [20])
        self.assertEqual(self.saved_steps("runs/cnn-0002"), [1])

    def test_help_version_and_models_are_printed_once(self):
        """L02: 0 for --help and --version. K01: once with 4 ranks."""
        for words, text in ((["--help"], "--batch-size N"), (["--version"], "LibTorch"), (["--list-models"], "cnn"),
                            (["eval", "--help"], "--checkpoint FILE")):
            result = self.run_trainer(4, *words)
            self.assertEqual(result.out.count(text), 1, result)
            self.assertEqual(result.err, "", result)
        self.assertEqual(self.run_trainer(0, "--version").out.count("Open MPI") <= 1, True)
        self.assertEqual(os.listdir(self.folder), [], "help leaves no files")

    def test_printed_configuration_reproduces_the_run(self):
        """K01: the resolved configuration is printed and stored; the command line wins over environment and file."""
        options = ["--batch-size", 100, "--optimizer", "adamw", "--lr", 0.003, "--max-steps", 6, "--seed", 7, "--model", "mlp",
                   "--model-option", "hidden=32,16", "--weight-decay", 0.01]
        self.run_trainer(2, *options, "--run-dir", "a")
        printed = self.run_trainer(2, *options, "--run-dir", "b", "--print-config")
        self.assertFalse(self.path("b").exists(), "--print-config runs nothing")
        self.path("b.ini").write_text(printed.out)
        result = self.run_trainer(2, "--config", "b.ini", env={"LOCKSTEP_LOG_EVERY": "3"})
        self.assert_same_checkpoint(self.checkpoint("a", 6), self.checkpoint("b", 6))
        self.assertIn("lr = 0.003 (file)", result.err)
        again = self.run_trainer(2, "--config", "a/config.ini", "--run-dir", "c", env={"LOCKSTEP_RUN_DIR": "d"})
        self.assertIn("run-dir = c (command line)", again.err)
        self.assert_same_checkpoint(self.checkpoint("a", 6), self.checkpoint("c", 6))
        self.assertEqual(self.losses("a"), self.losses("c"))

    def test_start_table_shows_threads_that_follow_the_cores(self):
        """F04: cores / ranks, at least one; OMP_NUM_THREADS wins; more threads than cores: one warning a rank."""
        cores = len(os.sched_getaffinity(0))
        for ranks in (1, 2, 4):
            result = self.run_trainer(ranks, "--dry-run", env={"OMP_NUM_THREADS": None})
            rows = self.table_of_ranks(result.err)
            self.assertEqual([row[5:] for row in rows], [[str(cores), str(max(1, cores // ranks))]] * ranks, result)
            self.assertNotIn("allowed cores: they", result.err)
        result = self.run_trainer(1, "--dry-run", env={"OMP_NUM_THREADS": str(cores + 1)})
        self.assertEqual(self.table_of_ranks(result.err)[0][6], str(cores + 1), result)
        self.assertEqual(result.err.count(f"{cores + 1} threads on {cores} allowed cores"), 1, result)
        self.assertEqual(os.listdir(self.folder), [], "a dry run leaves no files")

    def test_start_report_states_the_batch_equation(self):
        """K04: a batch that the ranks do not divide; batch x ranks x accumulation."""
        result = self.run_trainer(4, "--dry-run", "--batch-size", 10)
        self.assertIn("10 samples a step = 4 ranks x 2..3", result.err)
        self.assertIn("150 an epoch", self.line(result.err, "steps"))
        result = self.run_trainer(4, "--dry-run", "--batch-per-device", 2, "--accumulate", 2)
        self.assertIn("16 samples a step = 4 ranks x 2 micro-steps x 2\n", result.err)


if __name__ == "__main__":
    trainer.main()
