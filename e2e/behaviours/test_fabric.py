"""A job's network is the one its cluster describes, of whatever kind: what a collective costs in a job is what
`eidolon net collective` prints for the same description."""

import json
import re

BYTES = 256 << 20
TRAY = {"preset": "gb200-nvl72", "gpusPerServer": 1}
NODE = {"preset": "dgx-h100", "gpusPerServer": 1, "nics": {"count": 1}}
# Two servers each; the ways between them have nothing else in common.
CLUSTERS = {
    "rack of an NVL72": {"server": TRAY, "fabric": {"preset": "none"}},
    "rails": {"server": NODE, "fabric": {"preset": "rail-optimised"}},
    "torus with slow links": {"server": NODE, "fabric": {"preset": "torus", "dimensions": [2], "linkGbps": 200}},
    "servers without NVLink": {
        "server": {"gpu": "RTX-4090", "gpusPerServer": 1, "nics": {"count": 1, "gbps": 100}},
        "fabric": {"preset": "leaf-spine"},
    },
    "dragonfly with slow links": {
        "server": NODE,
        "fabric": {"preset": "dragonfly", "serversPerRouter": 1, "routersPerGroup": 2, "linkGbps": 50},
    },
    "two switches and a cable": {
        "server": NODE,
        "fabric": {
            "preset": "graph",
            "switches": ["left", "right"],
            "cables": [{"from": "left", "to": "right", "gbps": 25}],
            "plugs": [{"server": 0, "at": "left"}, {"server": 1, "at": "right"}],
        },
    },
}
# The difference between many and few is what one more costs: launches hide behind their predecessors.
SCRIPT = f"""
    from ctypes import byref, c_float, c_size_t, c_void_p
    cuda, values, begin, end = rank.runtime, c_void_p(), c_void_p(), c_void_p()
    light.good(cuda.cudaMalloc(byref(values), c_size_t({BYTES})), "cudaMalloc")
    for event in (begin, end): light.good(cuda.cudaEventCreate(byref(event)), "cudaEventCreate")

    def took(count):
        milliseconds = c_float()
        cuda.cudaEventRecord(begin, rank.stream)
        for _ in range(count):
            light.good(rank.nccl.ncclAllReduce(values, values, c_size_t({BYTES} // 4), light.FLOAT, light.SUM,
                                               rank.communicator, rank.stream), "ncclAllReduce")
        cuda.cudaEventRecord(end, rank.stream)
        cuda.cudaEventSynchronize(end)
        light.good(cuda.cudaEventElapsedTime(byref(milliseconds), begin, end), "cudaEventElapsedTime")
        return milliseconds.value

    for step in range(4): print("all_reduce took", (-took(3) + took(9)) / 6, "ms", flush=True)
"""


def in_the_table(world, cluster):
    """Microseconds of the collective, as the command prints them."""
    file = world.folder / "topology.yaml"
    file.write_text(json.dumps({"servers": 2, **cluster}))
    of_size = ["-b", str(BYTES), "-e", str(BYTES)]
    out = world.eidolon("net", "collective", "all_reduce", "--topology", file, *of_size)
    assert out.returncode == 0, out.stderr
    row = next(line.split() for line in out.stdout.splitlines() if line.split()[:1] == [str(BYTES)])
    return float(row[1])


def test_jobs_run_on_every_kind_of_network(world):
    took = {}
    for name, cluster in CLUSTERS.items():
        job = world.completed(SCRIPT, servers=2, cluster={"servers": 2, **cluster}, light=True)
        said = re.search(r"all_reduce took ([\d.]+) ms", world.logs(job))
        assert said, "the script said nothing"
        took[name] = float(said.group(1)) * 1000
        table = in_the_table(world, cluster)
        print(f"{name:26} {took[name]:9.1f} us in the job, {table:9.1f} us in the table")
        assert abs(took[name] - table) < 10, f"{name}: {took[name]} us in the job, {table} us in the table"
    assert sorted(took, key=took.get) == list(CLUSTERS), f"the order of speeds is {took}"
