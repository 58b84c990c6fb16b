"""Images that are not like ours."""

import pytest

from cluster_commands import apply
from simulation_jobs import complete, failed, iterations, leaves_nothing, light

AS_ITSELF = {"podTemplate": {}}


@pytest.fixture
def foreign(cluster):
    """An older and a newer Debian, the newer one without a shell, and a program built on musl."""
    cluster.build_programs()
    cluster.make_image("foreign")
    cluster.load("older", "newer", "musl")


def test_foreign_images(foreign, undisturbed):
    """Images older and newer than ours, one without a shell, run with the same answer; root-only and musl images are
    told what to do."""
    for name in ("older", "newer"):
        apply(light(name, image=f"e2e.local/{name}:test", **AS_ITSELF))
    apply(light("root-only", **AS_ITSELF))
    apply(light("on-musl", image="e2e.local/musl:test", command=["/program"], **AS_ITSELF))
    for name in ("older", "newer"):
        assert iterations(complete(name, attempts=[1])) == undisturbed, f"{name}: the image changes the answer"
    refused("root-only", "PodSecurityViolation", "spec.podTemplate.securityContext.runAsUser")
    refused("on-musl", "CommandFailed", "use an image based on Debian")
    leaves_nothing("older", "newer", "root-only", "on-musl")


@pytest.mark.named
def test_cpu_torch(cluster):
    """Debian's own torch, which is built without CUDA, is told which to install. Not by default: 1 GB to fetch."""
    cluster.make_image("cpu-torch")
    cluster.load("cpu-torch")
    command = ["python3", "-c", "import torch; torch.cuda.set_device(0)"]
    apply(light("without-cuda", image="e2e.local/cpu-torch:test", command=command, **AS_ITSELF))
    refused("without-cuda", "CommandFailed", "built without CUDA: install the wheel that is built for CUDA 13")
    leaves_nothing("without-cuda")


def refused(job, reason, advice):
    found, message = failed(job)
    assert found == reason and advice in message, f"{job}: {found}: {message}"
    print(f"{job}: {found}: {message[:240]}".replace("\n", " "))
