"""Lists the libraries that are preloaded into each process of a job."""

import pytest


@pytest.fixture(scope="session")
def preload(build):
    """The word for LD_PRELOAD."""
    first, facades = (sorted(folder.glob("*.so")) for folder in (build / "lib/eidolon/first", build / "lib/eidolon"))
    return ":".join(map(str, [*first, build / "lib/libeidolon_shim.so", *facades]))
