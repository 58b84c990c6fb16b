"""What reads the traces of torch.profiler reads those of an emulated job: Holistic Trace Analysis and TensorBoard's plugin
see the virtual timeline."""

import json
import subprocess

import trace_tables
from server import ROOT
from trace_tables import fetch

STEPS = 3
# Nanoseconds of the work of rank 0 in the one iteration that is shown.
TOTALS = """
    SELECT slice.name, slice.category, count(*) AS calls, sum(dur) AS nanoseconds
    FROM slice JOIN track ON track.id = track_id JOIN track rank ON rank.id = track.parent_id
    WHERE rank.name = 'rank 0' AND category IN ('kernel', 'copy', 'nccl') GROUP BY slice.name, slice.category
"""


def close(one, other, share):
    return abs(one - other) <= share * max(abs(one), abs(other))


def expect_times(hta):
    assert hta["steps"] == [3, 4, 5], f"steps {hta['steps']}"
    for row in hta["temporal"]:
        parts = [row[f"{part}_time(us)"] for part in ("idle", "compute", "non_compute")]
        assert all(part > 0 for part in parts), f"a part is negative: {row}"
        assert close(sum(parts), row["kernel_time(us)"], 1e-6), f"parts do not make up the whole: {row}"
    shares = {}
    for row in hta["idle"]:
        assert row["idle_time"] >= 0, f"negative idle time: {row}"
        key = (row["rank"], row["stream"])
        shares[key] = shares.get(key, 0) + row["idle_time_ratio"]
    assert all(abs(share - 1) < 0.011 for share in shares.values()), f"shares of idle time: {shares}"
    for row in hta["overlap"]:
        assert 10 < row["comp_comm_overlap_pctg"] < 100, f"one all-reduce lies beside the forward pass: {row}"
    for row in hta["queues"]:
        assert row["min"] >= 0 and row["max"] > 0, f"queue: {row}"
    for row in hta["bandwidth"]:
        assert 0 < row["mean"] < 4000, f"bandwidth: {row}"
        if row["name"] == "Memcpy HtoD":
            assert row["count"] == STEPS and 20 < row["mean"] < 64, f"no bandwidth of PCIe 5: {row}"
    for rank, rows in hta["launches"].items():
        assert len(rows) > 60, f"rank {rank} launches {len(rows)} times"
        for row in rows:
            assert row["cpu_duration"] > 0 and row["gpu_duration"] > 0, f"a launch takes no time: {row}"
            assert row["launch_delay"] >= 0, f"runs before it is launched: {row}"
    bound = hta["criticalPath"]["bound"]
    assert hta["criticalPath"]["found"] and bound.get("gpu_compute_bound", 0) > 0, f"critical path {bound}"


def expect_same_totals(hta, totals):
    """HTA's totals of three steps are three times those of the job's own timeline, to the nanosecond of each call."""
    found = {}
    for row in hta["kernels"]:
        if row["rank"] == 0:
            kind = row["kernel_type"]
            found.setdefault(kind, []).append(row["sum (us)"] * 1000)
    for kind, category in (("COMPUTATION", "kernel"), ("COMMUNICATION", "nccl"), ("MEMORY", "copy")):
        rows = [row for row in totals if row["category"] == category]
        want = STEPS * sum(row["nanoseconds"] for row in rows)
        calls = STEPS * sum(row["calls"] for row in rows)
        seen = sum(found.get(kind, []))
        assert rows and abs(seen - want) <= calls + 1, f"{kind}: {seen} ns of HTA, {want} ns of the timeline"


def expect_plugin(plugin, hta):
    for rank in ("rank0", "rank1"):
        shown = plugin[rank]
        views = {"Overview", "Operator", "Kernel", "Trace", "Memory"}
        assert views <= set(shown["views"]), f"views {shown['views']}"
        summary = {entry["title"]: entry["value"] for entry in shown["gpu_summary"]}
        assert summary["Name"].startswith("NVIDIA H100") and summary["Memory"] == "79.18 GB", f"{summary}"
        busy = float(summary["GPU Utilization"].split()[0])
        assert 50 < busy <= 100, f"utilisation {busy} %"
        pie = sum(row[1] for row in shown["kernel_pie"]["total"]["rows"])
        own = [row for row in hta["kernels"] if row["rank"] == int(rank[-1]) and row["kernel_type"] != "MEMORY"]
        want = sum(row["sum (us)"] for row in own)
        assert close(pie, want, 1e-6), f"kernels of {pie} us, HTA {want} us"
        peak = shown["memoryCurve"]["peaks"][f"GPU{rank[-1]}"]
        assert float(peak.split()[-1].removesuffix("KB")) > 4 * 4 * 2048 * 2048 / 1024, f"{peak}"


def expect_distributed(shown, reduced_bytes):
    for rank, gpus in shown["gpu_info"]["data"].items():
        assert "H100" in json.dumps(gpus), f"{rank}: {gpus}"
    for rank, data in shown["comm_ops"]["data"].items():
        name, calls, bytes_moved = data["rows"][0][:3]
        assert name == "nccl:all_reduce" and calls >= 2 * STEPS, f"{rank}: {data['rows']}"
        assert bytes_moved == STEPS * reduced_bytes, f"{rank}: {bytes_moved} B, {reduced_bytes} B a step"
    for step in shown["steps_to_overlap"]["data"].values():
        assert all(part >= 0 for parts in step.values() for part in parts), f"negative times: {step}"


def test_holistic_trace_analysis_and_tensorboard_read_what_the_program_profiled(world, profiled):
    traces = world.folder_of(profiled) / "traces"
    python = subprocess.run([ROOT / "e2e/trace_tools"], capture_output=True, text=True, check=True).stdout.strip()
    reader = [f"{python}/bin/python", "-B", ROOT / "e2e/harness/read_traces.py", traces]
    done = subprocess.run(reader, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    read = json.loads(done.stdout)
    expect_times(read["hta"])
    fetched, timeline = fetch(world, profiled)
    assert fetched.returncode == 0, fetched.stderr
    expect_same_totals(read["hta"], trace_tables.ask(timeline, TOTALS))
    expect_plugin(read["plugin"], read["hta"])
    expect_distributed(read["pluginOlder"]["All"], 4 * (4 * (2048 * 2048 + 2048) + (1 << 20)))
