# SPDX-License-Identifier: MIT
# Fashion-MNIST with the cnn: the same losses on 1, 2, 3 and 4 ranks.
import json
import pathlib
import unittest

import trainer

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")


class FashionMnist(trainer.Case):
    @unittest.skipUnless(SOURCE.is_dir(), f"no {SOURCE} (Debian: dataset-fashion-mnist; env/setup.sh installs it)")
    def test_losses_of_sixty_steps_agree(self):
        for name, prefix in (("train", "train"), ("test", "t10k")):
            self.run_trainer(0, "pack", "--idx-images", SOURCE / f"{prefix}-images-idx3-ubyte.gz", "--idx-labels",
                             SOURCE / f"{prefix}-labels-idx1-ubyte.gz", "--out", name, "--shards", 4)
        counts = {}
        seed = self.assert_losses_agree_over_ranks((1, 2, 3, 4), [
            "--data", "train", "--model", "cnn", "--batch-size", 96, "--optimizer", "sgd", "--lr", 0.01, "--momentum", 0,
            "--max-steps", 60])
        for np, batch in ((1, 96), (3, 96), (4, 128)):
            result = self.run_trainer(np, "eval", "--checkpoint", f"np2-{seed}", "--data", "test", "--batch-size", batch)
            row = json.loads(result.out)
            counts[np] = (row["samples"], row["correct"])
        self.assertEqual(set(counts.values()), {(10000, counts[1][1])})


if __name__ == "__main__":
    trainer.main()
