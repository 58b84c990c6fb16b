"""Jobs to which something happens while they train, however fast or busy the machine is."""

import contextlib
import os
import pathlib
import signal
import time

from cluster_commands import condition, expect, get, wait
from harder import PATIENCE_SECONDS


class Training:
    """Mixed into Run; needs what Harder has."""

    def start_training(self, job, spin=400_000, **changes):
        """A job whose four ranks meet in collectives, and of which those of server 1 are stopped then, so that no machine
        is so fast that it is over before something has happened to it. `held` or `resume` lets them go on."""
        self.apply_light(job, spin=spin, **changes)

        def has_ranks():
            if stopped := self.signal_ranks(job, signal.SIGSTOP):
                return stopped
            phase = get("simjob", job).get("status", {}).get("phase")
            expect(phase not in ("Complete", "Failed"), f"{job} was over too soon: {phase}")
            return []

        wait(f"{job} has ranks", PATIENCE_SECONDS, has_ranks)

        def trains():
            if get("simjob", job).get("status", {}).get("progress", {}).get("virtualSeconds", 0) > 0.05:
                return True
            self.resume(job)
            time.sleep(0.3)
            self.signal_ranks(job, signal.SIGSTOP)
            return False

        wait(f"{job} trains", PATIENCE_SECONDS, trains)
        expect(condition(job, "Running")[:2] == ("True", "Started"), f"{job} was over too soon")

    @staticmethod
    def signal_ranks(job, number):
        """The ranks of server 1 that were there to get the signal. Looks at this machine's processes alone, which takes
        milliseconds: the Kubernetes API is slow where much else goes on."""
        signalled = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                names = (folder / "environ").read_bytes().split(b"\0")
                if words[-2:] == [b"light.py", b""] and f"HOSTNAME={job}-1".encode() in names:
                    os.kill(int(folder.name), number)
                    signalled.append(int(folder.name))
        return signalled

    def resume(self, job):
        self.signal_ranks(job, signal.SIGCONT)

    @contextlib.contextmanager
    def held(self, job):
        """Until the block's end no rank of this attempt's server 1 takes a step, so the job is not over."""
        ranks = self.signal_ranks(job, signal.SIGSTOP)
        expect(ranks, f"{job} was over too soon")
        try:
            yield
        finally:
            for rank in ranks:
                with contextlib.suppress(ProcessLookupError):  # It went with its attempt.
                    os.kill(rank, signal.SIGCONT)
