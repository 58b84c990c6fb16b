"""Checks the linked shim: exports of the core, names and needs of the facades, rows against the real
libraries, and that everything was generated for every policy."""

import re
from pathlib import Path

import pytest
from generator.elf import SharedLibrary
from generator.policy import load_policy

SHIM = Path(__file__).resolve().parent.parent
VENDOR = SHIM / "vendor"
ROW = re.compile(r"^(?:UNDECLARED\((\w+)\)|[A-Z_]+\([^,()]+, (\w+),)")
# Libraries that the core may need: libc under its several names. Anything else may be missing from a user's image.
LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def row_symbols(library):
    symbols = set()
    for line in (VENDOR / library / f"{library}.inc").read_text().splitlines():
        if line.startswith("//"):
            continue
        found = ROW.match(line)
        assert found, f"{library}.inc: not a row: {line}"
        symbols.add(found.group(1) or found.group(2))
    return symbols


POLICIES = {path.parent.name: load_policy(path) for path in sorted(VENDOR.glob("*/*.policy"))}
NEWER = [name for name, policy in POLICIES.items() if "older" not in policy.single]


@pytest.fixture
def folder(build):
    """Returns the folder of the facades."""
    return build / "lib/eidolon"


@pytest.fixture
def core(build):
    return SharedLibrary(build / "lib/libeidolon_shim.so")


@pytest.fixture
def packages(torch_python):
    [site] = torch_python.glob("lib/python*/site-packages")
    return site


def test_core_exports_exactly_the_rows_and_the_listed_functions(core, folder):
    folders = (
        "program/time",
        "program/channel",
        "program/process",
        "pytorch/autograd",
        "pytorch/torch_operators",
        "pytorch/gloo",
    )
    plain = set().union(*((SHIM / folder / "exports.txt").read_text().split() for folder in folders))
    rows = set().union(*(row_symbols(library) for library in POLICIES))

    assert sorted(core.functions - rows - plain) == [], "exported without a row"
    assert sorted((rows | plain) - core.functions) == [], "a row, but no export"
    assert sorted(core.objects) == [], "data exported"


def test_core_needs_only_libc(core):
    assert set(core.needed) - LIBC == set()


@pytest.mark.parametrize("library", [name for name in NEWER if "binary" in POLICIES[name].single])
def test_rows_are_what_the_real_libraries_export(library, packages):
    real = SharedLibrary(packages / POLICIES[library].single["binary"])
    expected = {name for name in real.functions if not POLICIES[library].omitted(name)}

    assert row_symbols(library) ^ expected == set()


@pytest.mark.parametrize("library", NEWER)
def test_each_facade_has_the_soname_of_its_library_and_needs_the_core(library, folder):
    facade = SharedLibrary(folder / f"{library}.so")

    assert facade.soname == POLICIES[library].single["soname"]
    assert facade.needed == ["libeidolon_shim.so"]
    assert facade.functions | facade.objects == set()


def test_the_facade_of_the_older_runtime_gives_versions_to_what_differs(folder):
    facade = SharedLibrary(folder / "first" / "cuda_runtime_12.so")
    differing = {symbol.removesuffix("_12") for symbol in row_symbols("cuda_runtime_12") if symbol.endswith("_12")}

    assert facade.soname == "libcudart.so.12"
    assert facade.needed == ["libeidolon_shim.so"]
    assert facade.functions == differing
    assert facade.versions == {name: "libcudart.so.12" for name in differing}


def test_older_libraries_have_facades(folder):
    sonames = {SharedLibrary(path).soname for path in (folder).glob("*_12.so")}

    assert sonames == {
        "libcublas.so.12",
        "libcublasLt.so.12",
        "libcufft.so.11",
        "libcupti.so.12",
        "libcusolver.so.11",
        "libnvrtc.so.12",
    }


def test_no_facade_is_called_like_the_runtime(folder):
    names = [path.name for path in (folder).iterdir()]

    assert [name for name in names if "libcudart.so" in name] == []


def test_what_folded_jobs_have_before_gloo_is_what_stands_before_it_in_pytorch(folder, packages):
    library = SharedLibrary(folder / "folded" / "gloo.so")
    pytorch = SharedLibrary(packages / "torch" / "lib" / "libtorch_cpu.so")
    answered = set((SHIM / "pytorch/gloo/answered.txt").read_text().split())

    assert library.functions == answered
    assert sorted(answered - pytorch.functions) == [], "not PyTorch's"
    assert set(library.needed) - LIBC == {"libgcc_s.so.1"}, "the unwinder of what Gloo throws"


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcuda.so"])
def test_triton_finds_its_driver(name, folder):
    facade = SharedLibrary(folder / "triton" / name)

    assert facade.soname == "libcuda.so.1"
    assert facade.needed == ["libeidolon_shim.so"]
