#!/usr/bin/env python3
"""Makes the images that run on Kubernetes, without a container engine.

    images.py --build build/release --out FOLDER [--tag TAG] [services] [injection] [torch]

services: controller, timing and network service with the libraries they need and nothing else; no shell.
injection: shim and agent. The agent has its own loader and libraries, so that it runs in any image.
torch: a user's image for tests: Debian, Python and the stock torch wheel of e2e/environment; no agent, no shim. It is
large and does not depend on the tree: made once for each content of that environment.
foreign: users' images that are not like ours: an older Debian, a newer one without any shell, a program built on musl.
cpu-torch: Debian's own torch, which is built without CUDA; 1 GB, so only made when asked for.

What is missing in build/release is built first; of another build folder it is said what to build.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import mkimage

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = "/lib64/ld-linux-x86-64.so.2"
NOBODY = "65532:65532"
REGISTRY = "e2e.local"
# Files that pip installs for `pip install torch numpy`, without the vendor's libraries that the shim stands for.
VENDOR = "nvidia/nvshmem/lib/libnvshmem_host.so.3"
TORCH = (
    "torch torchgen functorch numpy numpy.libs sympy mpmath networkx jinja2 markupsafe"
    " filelock fsspec setuptools _distutils_hack packaging"
).split()


PROGRAMS = {
    "services": ["eidolon-operator", "eidolon-timing", "eidolon-timing-worker", "eidolon-network"],
    "injection": ["eidolon-agent", "eidolon_shim", "eidolon_facades"],
}


def provide(build, images):
    """Programs and libraries that the images hold, built where they are missing."""
    targets = [target for image in images for target in PROGRAMS.get(image, [])]
    made = {"eidolon_shim": build / "lib/libeidolon_shim.so", "eidolon_facades": build / "lib/eidolon/cuda_driver.so"}
    missing = [target for target in targets if not made.get(target, build / "bin" / target).exists()]
    if not missing:
        return
    if build.resolve() != (ROOT / "build/release").resolve():
        sys.exit(f"images: {build} lacks {', '.join(missing)}: run ninja -C {build} {' '.join(missing)}")
    print(f"images: building {', '.join(missing)}", file=sys.stderr, flush=True)
    done = subprocess.run([str(ROOT / "e2e/build"), "release", *missing], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"images: e2e/build release {' '.join(missing)} failed; see the lines above")


def libraries_of(program):
    """Shared libraries that a program loads, with the loader, as real paths by name."""
    text = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout
    found = {pathlib.Path(path).name: path for path in re.findall(r"=> (\S+) \(", text)}
    found[pathlib.Path(LOADER).name] = LOADER
    return found


def make(out, name, **content):
    mkimage.write_image(out, name, **content)
    print(f"{name}: {out} ({out.stat().st_size / 1e6:.1f} MB)", flush=True)


def pairs(files):
    """(path on this machine, path in the image), for mkimage, of files by their path in the image."""
    return [(pathlib.Path(source).resolve(), target) for target, source in sorted(files.items())]


def files_of_services(build):
    """Files of this machine by their paths in the image."""
    files = {}
    for program in PROGRAMS["services"]:
        path = build / "bin" / program
        files[f"/eidolon/bin/{program}"] = path
        for name, source in libraries_of(path).items():
            files[source if name == pathlib.Path(LOADER).name else f"/usr/lib/x86_64-linux-gnu/{name}"] = source
    return files


def services(build, out, tag, registry=REGISTRY):
    files, start = pairs(files_of_services(build)), ["/eidolon/bin/eidolon-operator"]
    env = ["LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu"]
    make(out / "services.tar", f"{registry}/services:{tag}", files=files, user=NOBODY, entrypoint=start, env=env)


def files_of_injection(build):
    """Files of this machine by their paths in the image."""
    agent = build / "bin/eidolon-agent"
    files = {"/eidolon/agent/eidolon-agent": agent}
    for name, source in libraries_of(agent).items():
        files[f"/eidolon/agent/lib/{name}"] = source
    lib = build / "lib"
    files["/eidolon/lib/libeidolon_shim.so"] = lib / "libeidolon_shim.so"
    for path in sorted((lib / "eidolon").rglob("*.so*")):
        files[f"/eidolon/lib/eidolon/{path.relative_to(lib / 'eidolon')}"] = path.resolve()
    return files


def injection(build, out, tag, registry=REGISTRY):
    files = pairs(files_of_injection(build))
    make(out / "injection.tar", f"{registry}/injection:{tag}", files=files, user=NOBODY)


def torch_environment():
    return subprocess.run([ROOT / "e2e/environment"], check=True, capture_output=True, text=True).stdout.strip()


def torch_key():
    """Names the image by what it holds."""
    text = torch_environment() + pathlib.Path(mkimage.__file__).read_text() + " ".join([*TORCH, VENDOR])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def torch(base, out):
    packages = pathlib.Path(torch_environment()) / "lib/python3.11/site-packages"
    key = torch_key()
    target, name = out / f"torch-{key}.tar", f"e2e.local/torch:{key}"
    if not target.exists():
        run = out / f"torchrun-{key}"
        run.write_text("#!/usr/bin/python3\nimport sys\nfrom torch.distributed.run import main\nsys.exit(main())\n")
        run.chmod(0o755)
        trees = [packages / name for name in TORCH if (packages / name).is_dir()]
        trees += sorted([*packages.glob("torch-*.dist-info"), *packages.glob("numpy-*.dist-info")])
        files = [(run, "/usr/local/bin/torchrun")]
        files += [(packages / path, f"/opt/python/{path}") for path in ("typing_extensions.py", VENDOR)]
        trees = [(path, f"/opt/python/{path.name}") for path in trees]
        start = {"env": ["PYTHONPATH=/opt/python"], "user": "1000:1000", "workdir": "/tmp"}
        make(target, name, layer=base, trees=trees, files=files, plain=True, **start)
        run.unlink()
    print(f"{name}: {target}")


SHELLS = {"sh", "bash", "dash", "rbash"}
# Needs no header and no start file of musl: its loader is its library, and is ready before this begins.
MUSL_PROGRAM = """
int puts(const char*);
void exit(int);
void _start(void) { puts("no GPU was asked"); exit(0); }
"""


def without_shells(source, target):
    with tarfile.open(source) as given, tarfile.open(target, "w") as kept:
        for member in given:
            if pathlib.PurePath(member.name).name not in SHELLS or member.isdir():
                kept.addfile(member, given.extractfile(member) if member.isreg() else None)


def foreign(base, out):
    """Makes images from the root file systems beside `base`, which cluster/build.sh unpacked."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        older, newer = base.parent / "older.tar", work / "newer.tar"
        make(out / "older.tar", "e2e.local/older:test", layer=older, user=NOBODY)
        without_shells(base.parent / "newer.tar", newer)
        make(out / "newer.tar", "e2e.local/newer:test", layer=newer, user=NOBODY)
        with tarfile.open(base.parent / "musl.tar") as system:
            (work / "libc.so").write_bytes(system.extractfile("./lib/x86_64-linux-musl/libc.so").read())
        link = f"-L{work} -lc -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o {work}/program"
        gcc = f"gcc -nostdlib -nostartfiles -no-pie -fno-stack-protector -x c - -x none {link}".split()
        subprocess.run(gcc, check=True, input=MUSL_PROGRAM, text=True)
        system, program = base.parent / "musl.tar", (work / "program", "/program")
        make(out / "musl.tar", "e2e.local/musl:test", layer=system, user=NOBODY, files=[program])


def cpu_torch(base, out):
    system = base.parent / "cpu-torch.tar"
    if not system.exists():
        command = ["mmdebstrap", "--quiet", "--variant=extract", "--include=python3-torch,python3", "bookworm"]
        subprocess.run([*command, system], check=True)
    # Its alternatives of linear algebra are links that only its set-up would make.
    libraries = "/usr/lib/x86_64-linux-gnu"
    path = f"LD_LIBRARY_PATH={libraries}/blas:{libraries}/lapack"
    make(out / "cpu-torch.tar", "e2e.local/cpu-torch:test", layer=system, user=NOBODY, env=[path], plain=True)


OURS = {"services": services, "injection": injection}
OF_USERS = {"torch": torch, "foreign": foreign, "cpu-torch": cpu_torch}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--tag", default="test")
    parser.add_argument("--base", type=pathlib.Path, help="root file system with python3, for torch")
    parser.add_argument("images", nargs="*", default=["services", "injection"])
    a = parser.parse_args()
    known = {*OURS, *OF_USERS}
    if unknown := sorted(set(a.images) - known):
        parser.error(f"no image is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    standing = sorted(set(a.images) & set(OF_USERS))
    if standing and (a.base is None or not a.base.exists()):
        what = "a root file system that e2e/kube/cluster/build.sh makes"
        sys.exit(f"images: {', '.join(standing)} stand on --base, {what}")
    a.out.mkdir(parents=True, exist_ok=True)
    provide(a.build, a.images)
    for image in set(a.images) & set(OURS):
        OURS[image](a.build, a.out, a.tag)
    for image in set(a.images) & set(OF_USERS):
        OF_USERS[image](a.base, a.out)


if __name__ == "__main__":
    main()
