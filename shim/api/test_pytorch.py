"""Compares what the shim and the agent know of PyTorch with the installed wheel. The tests read files of the wheel and start
no program. docs/internals/new_pytorch_release.md lists what each of them stands for."""

import re
from pathlib import Path

import pytest
from generator.elf import SharedLibrary

ROOT = Path(__file__).resolve().parents[2]
PYTORCH = ROOT / "shim/pytorch"
AGENT = ROOT / "services/agent"
LAUNCHER = "distributed/elastic/agent/server/local_elastic_agent.py"
# The shell's completion: torchrun prints it and starts no rank.
WITHOUT_RANKS = {"--print-completion"}
# torchrun takes these from its own environment, and so does a live rank of a folded job.
OF_THE_JOB = {"MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "OMP_NUM_THREADS"}


@pytest.fixture
def torch(torch_python):
    """Returns the folder of the package."""
    [site] = torch_python.glob("lib/python*/site-packages")
    return site / "torch"


@pytest.fixture
def functions(torch):
    return {name for library in ("libc10", "libtorch_cpu") for name in exported(torch / "lib" / f"{library}.so")}


def exported(path):
    return SharedLibrary(path).functions


def strings_of(folder):
    """Returns the string literals of a folder's sources; parts beside each other are one."""
    text = "".join(path.read_text() for path in sorted(folder.glob("*.[hc]*")) if "_test" not in path.name)
    return set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def numbered(text, pattern):
    """Returns the names of an enumeration in their order."""
    body = re.search(pattern, text)[1]
    return re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", body), re.MULTILINE)


@pytest.mark.parametrize("room", ["autograd", "torch_operators"])
def test_functions_in_front_of_pytorchs_have_names_that_it_exports(room, functions):
    names = set((PYTORCH / room / "exports.txt").read_text().split())

    assert names, "the room has exports"
    assert sorted(names - functions) == []


def test_functions_of_gloo_that_are_called_have_names_that_pytorch_exports(functions):
    names = {text for text in strings_of(PYTORCH / "gloo") if text.startswith("_ZN4gloo")}

    assert len(names) >= 7
    assert sorted(names - functions) == []


def test_options_of_torchrun_are_known(torch):
    parser = (torch / "distributed/run.py").read_text()
    options = {name.replace("_", "-") for name in re.findall(r'^        "(--[\w-]+)"', parser, re.MULTILINE)}
    rows = re.search(r"kTorchrun = .*?\}\);", (AGENT / "launch/launcher_options.cc").read_text(), re.DOTALL)[0]

    assert "--nproc-per-node" in options
    assert sorted(options - WITHOUT_RANKS - set(re.findall(r'\{"(--[\w-]+)"', rows))) == []


def test_variables_that_torchrun_gives_a_rank_are_known(torch):
    launcher = (torch / LAUNCHER).read_text()
    begun = launcher[launcher.index("worker_env = {") :]
    wanted = set(re.findall(r'^\s+"([A-Z_]+)":', begun[: begun.index("}\n")], re.MULTILINE))
    wanted |= set(re.findall(r'worker_env\["([A-Z_]+)"\]', launcher))
    known = set(re.findall(r'"([A-Z][A-Z_]+)"', (AGENT / "launch/rank_variables.cc").read_text()))

    assert "LOCAL_RANK" in wanted
    assert sorted(wanted - known - OF_THE_JOB) == []


def test_requests_of_the_store_have_the_numbers_of_pytorch(torch):
    ours = numbered((AGENT / "rendezvous/request.h").read_text(), r"enum class Operation[^{]*\{([^}]*)\}")
    [header] = torch.glob("include/torch/csrc/distributed/c10d/**/TCPStoreBackend.hpp")
    theirs = numbered(header.read_text(), r"enum class QueryType[^{]*\{([^}]*)\}")

    other = {"GETNUMKEYS": "countkeys", "DELETE_KEY": "delete", "QUEUE_LEN": "queuelength"}
    assert [other.get(name, name.lower().replace("_", "")) for name in theirs] == [
        name[1:].lower() for name in ours[:-1]
    ]


def test_every_scalar_type_has_a_size(torch):
    macro = (torch / "include/torch/headeronly/core/ScalarType.h").read_text()
    macro = macro[macro.index("define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(") :]
    types = re.findall(r"_\((.*), \w+\) /\* (\d+) \*/", macro[: macro.index("\n\n")])
    source = (ROOT / "services/contract/torch_layout/scalar_type.h").read_text()
    sizes = [int(size) for size in re.findall(r"\d+", re.search(r"kBytes\[\] = \{([^}]*)\}", source)[1])]

    of_type = {"int": 4, "float": 4, "double": 8, "bool": 1}
    for name, number in types:
        if plain := re.fullmatch(r"u?int(\d+)_t", name):
            of_type[name] = int(plain[1]) // 8
        if name in of_type:
            assert sizes[int(number)] == of_type[name], name
        if complex_of := re.fullmatch(r"c10::complex<(?:c10::)?(\w+)>", name):
            assert sizes[int(number)] == 2 * {"Half": 2, "BFloat16": 2, "float": 4, "double": 8}[complex_of[1]], name
    # Earlier releases have fewer types.
    assert [int(number) for _, number in types] == list(range(len(types)))
    assert len(types) <= len(sizes)
