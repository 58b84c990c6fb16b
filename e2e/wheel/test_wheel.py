"""The wheel is installed where nothing of this machine is known, and predicts a job there.

venv: a fresh virtual environment of this machine, installed by pip, that sees the torch of e2e/environment.
bullseye, bookworm, trixie: a root file system of that Debian (glibc 2.31, 2.36, 2.41) with its own Python and a stock
torch wheel; needs root and mmdebstrap. bullseye is the oldest Debian that its servers keep; that the programs need no
more than glibc 2.28 is checked in their symbols (e2e/checks/glibc.py, which e2e/package runs).
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e/docs"))
import pages

TRAIN = ROOT / "e2e/wheel/train.py"
RANKS = ROOT / "e2e/docs/programs/distributed.py"
TORCHRUN = "#!{python}\nimport sys\nfrom torch.distributed.run import main\n\nsys.exit(main())\n"
SECONDS = 60
JOB = ["run", "-o", "json", "--gpu", "H100-SXM5-80GB", "--"]
# Debian's Python, and what pip installs for torch without the vendor's libraries that the shim stands for.
COMMON = ["typing_extensions", "sympy<1.15", "mpmath", "networkx", "jinja2", "markupsafe", "filelock", "fsspec"]
DEBIANS = {
    "bullseye": ("3.9", ["torch==2.6.0", "numpy<2.1", "nvidia-curand-cu12==10.3.5.147", *COMMON]),
    "bookworm": ("3.11", ["torch==2.15.0", "numpy<2.5", "nvidia-nvshmem-cu13==3.7.2", "setuptools", *COMMON]),
    "trixie": ("3.13", ["torch==2.15.0", "numpy<2.6", "nvidia-nvshmem-cu13==3.7.2", "setuptools", *COMMON]),
}
# The root file systems have no shell.
ENTER = 'import os, runpy; os.chdir("/mnt"); runpy.run_module("eidolon", run_name="__main__")'
PACKAGES = "python3-minimal,libpython3-stdlib,base-files,libc6,libstdc++6"


def run(*command, **options):
    return subprocess.check_output(command, text=True, **options).strip()


@pytest.fixture(scope="session")
def wheel(pytestconfig):
    return ROOT / (pytestconfig.getoption("wheel", None) or run(ROOT / "e2e/package", "wheel"))


@pytest.fixture(scope="session")
def place(folder):
    made = folder / "wheel"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def venv(wheel, place, torch_python):
    """An environment with the wheel, and what pip installed."""
    run(torch_python / "bin/python", "-m", "venv", place / "venv")
    run(place / "venv/bin/pip", "install", "--quiet", "--no-index", wheel)
    [site] = (place / "venv/lib").glob("python*/site-packages")
    [torch] = torch_python.glob("lib/python*/site-packages")
    (site / "torch.pth").write_text(f"{torch}\n")
    return place / "venv"


def expect_prediction(command, **options):
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    seconds = time.monotonic() - started
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    iteration = json.loads(done.stdout)["status"]["prediction"]["iterationSeconds"]["mean"]
    print(f"iteration {iteration * 1e6:.1f} us, {seconds:.1f} s")
    assert 1e-5 < iteration < 1e-2
    assert seconds < SECONDS


def environment_of(venv):
    return {"PATH": "/usr/bin:/bin", "HOME": str(venv.parent)}


@pytest.mark.starts(1)
def test_a_job_is_predicted_in_a_venv(venv, tmp_path):
    shutil.copy(TRAIN, tmp_path)
    expect_prediction([venv / "bin/eidolon", *JOB, "python", "train.py"], env=environment_of(venv), cwd=tmp_path)


def test_the_bill_of_materials_lists_the_files_of_the_venv_and_the_versions_that_the_command_says(venv):
    [site] = (venv / "lib").glob("python*/site-packages")
    [bill] = site.glob("eidolon-*.dist-info/sboms/*.spdx.json")
    made = json.loads(bill.read_text())
    for entry in made["files"]:
        digest = hashlib.sha256((site / entry["fileName"]).read_bytes()).hexdigest()
        assert digest == entry["checksums"][0]["checksumValue"], entry["fileName"]
    said = run(venv / "bin/eidolon", "--version", "--verbose", env=environment_of(venv)).splitlines()
    listed = {f"{entry['name']} {entry['versionInfo']}" for entry in made["packages"]}
    numbered = {line for line in said[1:] if "(has no" not in line}
    assert len(numbered) > 10, said
    assert numbered <= listed


def documented_commands(page):
    """The commands of the page's first block that installs a wheel."""
    blocks = (list(pages.commands(block)) for block in pages.blocks((ROOT / page).read_text()) if block.is_shell())
    return next(commands for commands in blocks if commands and commands[0].startswith("pip install"))


@pytest.mark.starts(9)
@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_a_venv_predicts_by_the_words_of_the_page(page, wheel, venv, tmp_path):
    shutil.copy(wheel, tmp_path)
    shutil.copy(RANKS, tmp_path / "train.py")
    (venv / "bin/torchrun").write_text(TORCHRUN.format(python=venv / "bin/python"))
    (venv / "bin/torchrun").chmod(0o755)
    environment = environment_of(venv) | {"PATH": f"{venv}/bin:/usr/bin:/bin", "PIP_NO_INDEX": "1"}
    run(venv / "bin/pip", "uninstall", "--quiet", "--yes", "eidolon")
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(documented_commands(page))],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and "run  Complete" in done.stdout, done.stdout[-3000:]


def install(target, pip, python, requirements):
    abis = [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    tags = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "any")
    words = [pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    run(
        *words,
        f"--python-version={python}",
        *abis,
        *(f"--platform={tag}" for tag in tags),
        "--target",
        target,
        *requirements,
    )


def unpack(target, release, packages):
    with tempfile.TemporaryDirectory() as folder:
        tar = f"{folder}/root.tar"
        run("mmdebstrap", "--quiet", "--variant=extract", f"--include={packages}", release, tar)
        run("tar", "-xf", tar, "-C", target)
    for name in ("mnt", "proc", "tmp", "dev", "opt/torch"):
        (target / name).mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def kept(name, *of):
    """A folder outside the tree for each content of `of`, and whether it is new."""
    cache = pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR") or pathlib.Path.home() / ".cache/eidolon")
    folder = cache / f"wheel-{name}-{hashlib.sha256(repr(of).encode()).hexdigest()[:12]}"
    new = not (folder / "complete").exists()
    if new:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "root").mkdir(parents=True)
    yield folder / "root", new
    (folder / "complete").touch()


@pytest.mark.starts(1)
@pytest.mark.parametrize("release", DEBIANS)
def test_a_job_is_predicted_in_a_debian(release, wheel, torch_python, tmp_path):
    with kept(release, release, PACKAGES) as (root, new):
        if new:
            unpack(root, release, PACKAGES)
    own = tmp_path / "eidolon"
    own.mkdir()
    run("python3", "-m", "zipfile", "-e", wheel, own)
    for program in own.glob("eidolon/bin/*"):
        program.chmod(0o755)  # pip does; zipfile does not.
    shutil.copy(TRAIN, own)
    with kept("torch", *DEBIANS[release]) as (torch, new):
        mounts = f"""set -e
mount --bind {own} {root}/mnt
mount --bind {torch} {root}/opt/torch
mount -t proc proc {root}/proc
mount -t tmpfs tmpfs {root}/tmp
mount --rbind /dev {root}/dev
exec env -i HOME=/tmp PATH=/usr/bin:/bin PYTHONPATH=/mnt:/opt/torch /usr/sbin/chroot {root} /usr/bin/python3 """
        within = ["unshare", "--mount", "--pid", "--fork", "sh", "-c"]
        if new:
            install(torch, torch_python / "bin/pip", *DEBIANS[release])
            # As pip does after it has installed.
            subprocess.run([*within, mounts + "-m compileall -q -j 2 /opt/torch"], stdout=subprocess.DEVNULL)
    expect_prediction([*within, f"{mounts} -c '{ENTER}' {' '.join(JOB)} python3 train.py"])
