"""Provides what the programs of e2e/compat need: the main environment, and pinned packages beside it."""

import hashlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def environments(root):
    """The folder of the main environment and that of the packages beside it, installed once for each content."""
    made = subprocess.run([root / "e2e/environment"], check=True, text=True, capture_output=True)
    main = pathlib.Path(made.stdout.strip())
    requirements = (HERE / "requirements.txt").read_bytes()
    cache = pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR", main.parent))
    folder = cache / f"compatibility-{hashlib.sha256(requirements + main.name.encode()).hexdigest()[:16]}"
    if not (folder / "complete").exists():
        print("compat: installing the programs' packages (once)", file=sys.stderr)
        pip = [main / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        (folder / "complete").touch()
    return main, folder


def python_path(packages):
    """PYTHONPATH of the packages: their folder, and the one that a package's .pth adds where it is installed."""
    return f"{packages}:{packages}/nvidia_cutlass_dsl/dsl_packages"


def older_environments(root):
    """The folder of the environment with the wheel of CUDA 12, and that of the older frameworks beside it."""
    made = subprocess.run([root / "e2e/older_frameworks"], check=True, text=True, capture_output=True)
    environment, _, packages = map(pathlib.Path, made.stdout.split())
    return environment, packages


def versions_of(main, packages):
    """The version of each package of both, by its name."""
    [site] = main.glob("lib/python*/site-packages")
    found = importlib.metadata.distributions(path=[str(site), str(packages)])
    return {each.metadata["Name"].lower(): each.version for each in found}


def built_by_nvcc(main, packages, folder, here):
    """saxpy.cu as nvcc builds it by default."""
    [site] = main.glob("lib/python*/site-packages")
    toolkit = packages / "nvidia/cu13"
    made = folder / "saxpy"
    includes = [f"-I{site}/nvidia/cu13/include"]
    libraries = [f"-L{site}/nvidia/cu13/lib"]
    command = [toolkit / "bin/nvcc", "-arch=sm_90", *includes, *libraries, "-o", made, here / "programs/saxpy.cu"]
    subprocess.run(command, check=True)
    return str(made)
