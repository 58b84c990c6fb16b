"""torch's own tests of torch.distributed, which are in its wheel, with NCCL, on as many ranks as the first argument says.

Started as upstream's test_distributed_spawn.py starts them, each test in processes of its own, but those are forked from
one that has imported torch and has not looked for a GPU: importing takes longer than most tests. Further arguments are
names of tests; `--list TOPIC` prints the names of all that this backend has, `training` or `collectives`.
"""

import os
import re
import sys
import tempfile
import unittest

if __name__ == "__main__":
    os.environ["BACKEND"] = "nccl"
    os.environ["WORLD_SIZE"] = sys.argv[1]
    os.environ["TEMP_DIR"] = tempfile.mkdtemp()

import torch
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend

from verdicts import Lines


# Tests of DistributedDataParallel and of what averages models; the others are of groups and collectives.
TRAINING = re.compile("ddp|distributeddata|sgd|averager|model|bucket|graph|grad|param|sync_?b", re.I)


# Modules that the tests import, and calls that look for no GPU, which torch's own test modules make.
IMPORTED = [
    "torch",
    "torch._dynamo",
    "torch._inductor.test_operators",
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "pytest",
]
FRESH = torch.multiprocessing.get_context("forkserver")


def begin(environment, run, *args, **kwargs):
    os.environ.update(environment)
    run(*args, **kwargs)


def process(target, name, args, kwargs):
    """A process as one that is spawned, with the variables that this one has now."""
    return FRESH.Process(target=begin, name=name, args=(dict(os.environ), target, *args), kwargs=kwargs)


class TestDistributedSpawn(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(process)
        torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()


if __name__ == "__main__":
    if sys.argv[2:3] == ["--list"]:
        for name in unittest.TestLoader().getTestCaseNames(TestDistributedSpawn):
            is_of_topic = (TRAINING.search(name) is not None) == (sys.argv[3] == "training")
            if is_of_topic and not hasattr(getattr(TestDistributedSpawn, name), "__unittest_skip__"):
                print(f"test: {name}")
    else:
        FRESH.set_forkserver_preload(IMPORTED)
        unittest.TestSuite(TestDistributedSpawn(name) for name in sys.argv[2:]).run(Lines())
