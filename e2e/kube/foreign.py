"""Steps of e2e/kube/run about images that are not like ours."""

import sys

from cluster_commands import CLUSTER, HERE, call, condition, expect, finished
from harder import PATIENCE_SECONDS

RUN_AS_ITSELF = {"podTemplate": {}}


class Foreign:
    """Mixed into Run; needs what Harder has."""

    def foreign_images(self):
        """Images older and newer than ours, one without a shell, run; root-only and musl images are told what to do."""
        self.bring_foreign()
        for name in ("older", "newer"):
            self.apply_light(name, spin=0, image=f"e2e.local/{name}:test", **RUN_AS_ITSELF)
        self.apply_light("root-only", spin=0, **RUN_AS_ITSELF)
        self.apply_light("on-musl", spin=0, image="e2e.local/musl:test", command=["/program"], **RUN_AS_ITSELF)
        answers = [self.over_well(name, attempt=1)["prediction"]["iterationPicoseconds"] for name in ("older", "newer")]
        expect(answers[0] == answers[1], "the image changes the answer")
        self.refused("root-only", "PodSecurityViolation", "spec.podTemplate.securityContext.runAsUser")
        self.refused("on-musl", "CommandFailed", "use an image based on Debian")
        for name in ("older", "newer", "root-only", "on-musl"):
            self.leaves_nothing(name)

    def cpu_torch(self):
        """Debian's own torch, which is built without CUDA, is told which to install. Not by default: 1 GB to fetch."""
        self.make_image_of("cpu-torch")
        call(CLUSTER / "load.sh", self.images / "cpu-torch.tar", timeout=600)
        self.apply_light(
            "without-cuda",
            spin=0,
            image="e2e.local/cpu-torch:test",
            command=["python3", "-c", "import torch; torch.cuda.set_device(0)"],
            **RUN_AS_ITSELF,
        )
        self.refused("without-cuda", "CommandFailed", "built without CUDA: install the wheel that is built for CUDA 13")
        self.leaves_nothing("without-cuda")

    def bring_foreign(self):
        """The images, built and loaded."""
        self.build_all()
        self.make_image_of("foreign")
        archives = [self.images / f"{name}.tar" for name in ("older", "newer", "musl")]
        call(CLUSTER / "load.sh", *archives, timeout=600)

    def make_image_of(self, kind):
        base = ("--base", self.cache / "base/debian.tar")
        call(sys.executable, HERE / "images.py", "--build", self.build, "--out", self.images, *base, kind, timeout=2400)

    @staticmethod
    def refused(job, reason, advice):
        finished(job, PATIENCE_SECONDS)
        verdict = condition(job, "Failed")
        expect(verdict[1] == reason and advice in verdict[2], f"{job}: {verdict}")
        print(f"     {job}: {verdict[1]}: {verdict[2][:240]}".replace("\n", " "), flush=True)
