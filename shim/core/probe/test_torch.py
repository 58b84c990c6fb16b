"""Stock torch under the preloaded shim, outside any job: it imports with every symbol resolved, none of the
replaced libraries is loaded, memory stays small, and the real NVRTC still compiles."""

import os
import pathlib
import re
import subprocess

import pytest

NVRTC_PROGRAM = pathlib.Path(__file__).with_name("nvrtc_program.py")
# Of what stock torch holds, which is 530 to 567 MB on one machine: how many pages of a library one access
# brings in is the kernel's choice, and depends on what the page cache holds.
RESIDENT_SHARE_MAX = 0.56
ANONYMOUS_MB_MAX = 185  # 293 without the shim.
# Real on purpose: torch imports data symbols from it.
LEFT_REAL = {"libnvshmem_host.so.3"}
LOOK_AROUND = """
import torch
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmRSS"].split()[0], status["RssAnon"].split()[0])
print(open("/proc/self/maps").read())
"""
DEVICES = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"


@pytest.fixture
def run_stock(torch_python):
    """Runs that environment's Python with the words given."""

    def run(*words, **environment):
        environment = {**os.environ, **environment}
        command = [torch_python / "bin/python", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def run_python(run_stock, preload):
    """The same with the shim."""
    return lambda *words, **environment: run_stock(*words, LD_PRELOAD=preload, **environment)


def memory_of(result):
    return [int(kib) / 1024 for kib in result.stdout.splitlines()[0].split()]


def test_import_resolves_every_symbol(run_python):
    assert run_python("-c", "import torch", LD_BIND_NOW="1").stderr == ""


def test_no_replaced_library_is_loaded(run_python):
    maps = run_python("-c", LOOK_AROUND).stdout
    vendor = set(re.findall(r"site-packages/nvidia/\S+/(lib\S+)$", maps, re.MULTILINE))

    assert vendor == LEFT_REAL


def test_resident_memory_after_import(run_python, run_stock):
    stock_mb, _ = memory_of(run_stock("-c", LOOK_AROUND))
    resident_mb, anonymous_mb = memory_of(run_python("-c", LOOK_AROUND))
    print(
        f"resident after import torch: {resident_mb:.0f} MB, {anonymous_mb:.0f} of them anonymous; "
        f"{stock_mb:.0f} MB without the shim"
    )

    assert resident_mb <= RESIDENT_SHARE_MAX * stock_mb
    assert anonymous_mb <= ANONYMOUS_MB_MAX


def test_no_device_outside_a_job(run_python):
    assert run_python("-W", "ignore", "-c", DEVICES).stdout == "False 0\n"


def test_run_time_compiler_works(run_python):
    assert re.search(r"NVRTC 13\.\d+: \d{4,} bytes, NVRTC_SUCCESS", run_python(NVRTC_PROGRAM).stdout)
