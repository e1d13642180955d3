# SPDX-License-Identifier: MIT
# eval: each sample once, whatever the ranks and the batch; info; what both refuse.
import json

import trainer


class Eval(trainer.Case):
    DIGITS = trainer.ROOT / "data/digits/test"

    def evaluate(self, np, *words):
        """The one row on stdout; people read stderr."""
        result = self.run_trainer(np, "eval", *words)
        self.assertEqual(len(result.out.splitlines()), 1, result)
        row = json.loads(result.out)
        self.assertEqual(row["event"], "eval")
        self.assertIn(f"({row['correct']} of {row['samples']})", result.err)
        return row

    def test_counts_do_not_depend_on_ranks_or_batch(self):
        """S03: 297 samples, 10 and 1, never a duplicate. C10, D16: a checkpoint of 2 ranks serves any number."""
        self.run_trainer(2, "--epochs", 2, "--run-dir", "run")
        trained = self.rows("run", "eval")[-1]
        file = self.checkpoint("run", 48)
        rows = [self.evaluate(np, "--checkpoint", file, "--data", self.DIGITS, "--batch-size", batch)
                for np, batch in ((1, 96), (3, 96), (4, 96), (1, 7), (3, 7), (4, 7))]
        self.assertEqual({row["samples"] for row in rows}, {297})
        self.assertEqual({row["correct"] for row in rows}, {trained["correct"]})
        for row in rows:
            self.assertLess(abs(row["loss"] - trained["loss"]), 1e-6 * trained["loss"])
            self.assertEqual((row["step"], row["epoch"]), (48, 2))
        self.assertGreater(trained["accuracy"], 0.5)
        self.pack("ten", 10)
        self.pack("single", 1)
        tens = [self.evaluate(np, "--checkpoint", "run", "--data", "ten", "--batch-size", 4) for np in (1, 2, 3, 4)]
        self.assertEqual([(row["samples"], row["correct"]) for row in tens], [(10, tens[0]["correct"])] * 4)
        self.assertEqual(self.evaluate(4, "--checkpoint", "run", "--data", "single")["samples"], 1)

        with self.subTest("info on a checkpoint, a shard, a data set"):
            info = self.run_trainer(2, "info", file)
            self.assertIn("verified against its manifest", info.out)
            self.assertRegex(info.out, r"/counters/step +48\b")
            self.assertRegex(info.out, r"/model/conv1\.weight +fp32 +\[32, 1, 3, 3\] +1152")
            self.assertRegex(info.out, r"/optim/conv1\.weight/")
            self.assertEqual(info.out.count("/counters/step"), 1, "printed once")
            shard = self.run_trainer(0, "info", self.DIGITS / "digits-00000-of-00001.h5")
            self.assertIn("297 samples of 1x8x8 uint8, 10 classes", shard.out)
            whole = self.run_trainer(2, "info", self.DIGITS.parent / "train")
            self.assertIn("1500 samples of 1x8x8 uint8, 10 classes", whole.out)
            self.assertEqual(whole.out.count("digits-0000"), 4)
            self.refused(66, ["absent"], 1, "info", "absent")
            self.refused(64, ["info needs the path"], 0, "info")
            self.path("text.h5").write_text("not a checkpoint")
            self.refused(65, ["text.h5"], 0, "info", "text.h5")

        with self.subTest("refusals"):
            self.refused(64, ["--checkpoint"], 1, "eval", "--data", self.DIGITS)
            self.refused(64, ["--data"], 0, "eval", "--checkpoint", file)
            self.refused(66, ["absent.h5"], 2, "eval", "--checkpoint", "absent.h5", "--data", self.DIGITS)
            self.refused(66, ["nowhere"], 2, "eval", "--checkpoint", file, "--data", "nowhere")
            self.pack("wide", 4, side=12)
            self.refused(65, ["wide", "another shape"], 2, "eval", "--checkpoint", file, "--data", "wide")
            damaged = bytearray(file.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            file.write_bytes(damaged)
            self.refused(65, ["step-00000048.h5"], 2, "eval", "--checkpoint", file, "--data", self.DIGITS)
            older = self.evaluate(1, "--checkpoint", "run", "--data", self.DIGITS)
            self.assertEqual(older["step"], 24, "a folder falls back to the newest that verifies")

    def test_layers_of_another_model(self):
        """C09, C10: all names that are missing or too many, in one message."""
        self.run_trainer(1, "--model", "mlp", "--model-option", "hidden=16,8", "--max-steps", 1, "--run-dir", "run")
        for hidden, names in (("16,8,8", ["layers.3.weight", "layers.3.bias"]), ("16", ["layers.2.weight", "layers.2.bias"])):
            words = ["--model", "mlp", "--model-option", f"hidden={hidden}", "--max-steps", 2, "--run-dir", "run"]
            self.refused(78, ["model-option", "hidden=16,8", f"hidden={hidden}"], 2, *words)
            self.refused(65, names, 2, *words, "--allow-change", "model-option")


if __name__ == "__main__":
    trainer.main()
