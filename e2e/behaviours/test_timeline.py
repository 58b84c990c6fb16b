"""What a job's timeline shows is what the job's report and event log say."""

import textwrap

import pytest
import trace_tables
from jobs import BEFORE_RANKS
from recordings import mlp
from trace_tables import fetch

# Forward, backward and update on two ranks, with an NVTX range and a copy from the host.
STEP = """
    weight = torch.zeros(1024, 1024, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    batch = torch.ones(256, 1024).pin_memory()
    for step in range(8):
        torch.cuda.nvtx.range_push("forward")
        loss = (batch.to("cuda", non_blocking=True) @ weight).square().mean()
        torch.cuda.nvtx.range_pop()
        loss.backward()
        dist.all_reduce(weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
"""

# Slices of one rank's streams, which are tracks below the rank's.
OPERATIONS = """
    SELECT rank.name AS rank, track.name AS track, slice.*
    FROM slice JOIN track ON track.id = slice.track_id JOIN track rank ON rank.id = track.parent_id
    WHERE slice.category IN ('kernel', 'copy', 'nccl', 'callback')
"""


OUTPUTS = "{eventLog: true, timeline: {iterations: 1}}"


@pytest.fixture(scope="module")
def shown(world):
    """A job, and its trace as the command fetches it."""
    job = world.completed(STEP, ranks=2, measure=1, outputs=OUTPUTS, nccl=True)
    done, trace = fetch(world, job)
    assert done.returncode == 0 and "ui.perfetto.dev" in done.stderr, f"eidolon timeline: {done.stderr}"
    return job, trace


def logged(world, job):
    """Of each rank: the kernels and copies of its event log, as (stream, begin, end) in nanoseconds."""
    found = {}
    for log in world.event_logs(job).values():
        for line in log.decode().splitlines():
            word = line.split()
            operation = (int(word[5]), int(word[-3]) // 1000, int(word[-1]) // 1000)
            found.setdefault(f"rank {word[1]}", {})[int(word[7])] = (operation, " ".join(word[8:-4]))
    return found


def test_a_timeline_shows_each_operation_of_the_iteration_where_the_event_log_has_it(world, shown):
    job, trace = shown
    ask = lambda sql: trace_tables.ask(trace, sql)

    # The iteration is the report's.
    marks = ask(
        "SELECT slice.*, args.int_value AS ps FROM slice JOIN args USING (arg_set_id) "
        "WHERE category = 'iteration' AND key = 'debug.picoseconds'"
    )
    report = job["status"]["prediction"]["iterationSeconds"]["mean"]
    assert len(marks) == 2 and all(mark["name"] == "iteration 2" for mark in marks), f"iterations: {marks}"
    longest = max(mark["ps"] for mark in marks)
    assert abs(longest * 1e-12 - report) < 1e-12, f"the report says {report} s, the timeline {longest} ps"

    # Each operation has the times of the event log, and none is missing.
    log, operations = logged(world, job), ask(OPERATIONS)
    for rank in ("rank 0", "rank 1"):
        shown = [o for o in operations if o["rank"] == rank]
        ends = {(int(o["track"].split()[3].rstrip(":")), o["ts"] + o["dur"]) for o in shown}
        of_log = {(operation[0], operation[2]) for operation, name in log[rank].values()}
        assert len(shown) > 10 and ends <= of_log, f"{rank}: {len(shown)} operations, not in its log: {ends - of_log}"
        counted = ask(
            f"SELECT int_value AS n FROM args JOIN slice USING (arg_set_id) JOIN track ON track.id = track_id "
            f"JOIN track rank ON rank.id = track.parent_id WHERE key = 'debug.operations' AND category = 'iteration' "
            f"AND rank.name = '{rank}'"
        )
        assert counted == [{"n": len(shown)}], f"{rank}: {counted} operations, {len(shown)} slices"
    assert {o["category"] for o in operations} >= {"kernel", "copy", "nccl"}, "kinds of operations are missing"

    # Operations of one stream follow each other.
    overlaps = ask(
        f"SELECT a.name, b.name FROM ({OPERATIONS}) a JOIN ({OPERATIONS}) b ON a.track_id = b.track_id AND a.id < b.id "
        "WHERE a.ts < b.ts + b.dur AND b.ts < a.ts + a.dur"
    )
    assert not overlaps, f"operations of one stream overlap: {overlaps[:3]}"

    # An arrow leads from each call to its operation, and never back in time.
    arrows = ask(
        "SELECT call.ts + call.dur AS called, op.ts AS began FROM flow JOIN slice call ON call.id = slice_out "
        "JOIN slice op ON op.id = slice_in WHERE call.category = 'call' AND op.category IN ('kernel', 'copy', 'nccl')"
    )
    assert len(arrows) == len(operations), f"{len(operations)} operations, {len(arrows)} arrows"
    assert all(arrow["called"] <= arrow["began"] for arrow in arrows), "an operation begins before its call"

    # Each duration has its source.
    sources = ask(
        f"SELECT string_value AS source, count(*) AS n FROM args JOIN ({OPERATIONS}) op USING (arg_set_id) "
        "WHERE key = 'debug.source' GROUP BY 1"
    )
    print(f"{len(operations)} operations, sources {sources}, {trace.stat().st_size} bytes")
    assert sum(row["n"] for row in sources) == len(operations), f"operations without a source: {sources}"
    ranges = ask("SELECT count(*) AS n FROM slice WHERE category = 'nvtx' AND name = 'forward'")
    assert ranges == [{"n": 2}], f"NVTX ranges: {ranges}"
    waits = ask("SELECT count(*) AS n FROM slice WHERE category = 'wait' AND name = 'cudaStreamSynchronize'")
    assert waits[0]["n"] >= 2, f"loss.item() waits: {waits}"


def test_calls_of_the_host_show_the_line_of_the_program_that_made_them(shown):
    calls = trace_tables.ask(
        shown[1],
        "SELECT slice.name, slice.category, (SELECT string_value FROM args WHERE args.arg_set_id = slice.arg_set_id "
        "AND key = 'debug.python') AS line FROM slice WHERE category IN ('call', 'wait') "
        "AND name != 'waits for other ranks' ORDER BY ts",
    )
    numbers = {
        text.strip(): number for number, text in enumerate((BEFORE_RANKS + textwrap.dedent(STEP)).splitlines(), 1)
    }

    def lines(name):
        return {call["line"].rpartition("/")[2] for call in calls if call["name"] == name and call["line"]}

    def at(text):
        return f"script.py:{numbers[text]} in <module>"

    loss = at('loss = (batch.to("cuda", non_blocking=True) @ weight).square().mean()')
    assert lines("cudaMemcpyAsync") >= {loss}, f"copies: {lines('cudaMemcpyAsync')}"
    assert lines("ncclAllReduce") == {at("dist.all_reduce(weight.grad)")}, f"NCCL: {lines('ncclAllReduce')}"
    assert lines("cudaStreamSynchronize") == {at("loss.item()")}, f"waits: {lines('cudaStreamSynchronize')}"
    assert {loss, at("optimizer.step()")} <= lines("cudaLaunchKernel"), f"launches: {lines('cudaLaunchKernel')}"
    # Autograd's thread runs no Python: the launches of the backward pass have no line. The gradient it begins with is
    # made by backward() itself.
    without = [call["name"] for call in calls if call["line"] is None]
    assert without.count("cudaLaunchKernel") >= 4 and "ncclAllReduce" not in without, f"calls without a line: {without}"
    begun = [call["name"] for call in calls if (call["line"] or "").endswith(at("loss.backward()"))]
    assert begun == ["cudaLaunchKernel"] * 2, f"calls of backward() on two ranks: {begun}"
    print(f"{len(calls)} calls and waits, {len(calls) - len(without)} of them with their line")


# Bytes of one link that its counter counted in the window, and its highest rate.
CROSSED = """
    SELECT track.name AS link, process.name AS server, sum(value * (next - ts)) / 1e9 AS bytes, max(value) AS rate FROM (
        SELECT track_id, ts, value, lead(ts, 1, ts) OVER (PARTITION BY track_id ORDER BY ts) AS next FROM counter
    ) JOIN track ON track.id = track_id JOIN track process ON process.id = track.parent_id
    WHERE process.name LIKE 'server %' GROUP BY 1, 2
"""


def test_counters_of_links_hold_the_bytes_that_collectives_moved(world):
    script = """
        from ctypes import byref, c_size_t, c_void_p
        values, count = c_void_p(), 1 << 24
        light.good(rank.runtime.cudaMalloc(byref(values), c_size_t(4 * count)), "cudaMalloc")
        for step in range(6):
            light.good(rank.nccl.ncclBroadcast(values, values, c_size_t(count), light.FLOAT, 0, rank.communicator,
                                               rank.stream), "ncclBroadcast")
            light.good(rank.runtime.cudaStreamSynchronize(rank.stream), "cudaStreamSynchronize")
    """
    shown, plain = (
        world.completed(script, ranks=2, servers=2, measure=1, outputs=some, light=True)
        for some in (OUTPUTS, "{eventLog: true}")
    )
    assert world.event_logs(shown) == world.event_logs(plain), "looking at links changes the prediction"
    done, trace = fetch(world, shown)
    assert done.returncode == 0, f"eidolon timeline: {done.stderr}"
    crossed = trace_tables.ask(trace, CROSSED)
    sent = 4 << 24
    for server, direction in (("server 0", "out"), ("server 1", "in")):
        nics = [row for row in crossed if row["server"].startswith(server) and row["link"].startswith("NIC")]
        moved = sum(row["bytes"] for row in nics if row["link"].endswith(f" {direction}: bytes per second"))
        # A counter changes at whole nanoseconds.
        assert abs(moved / sent - 1) < 1e-3, f"{server} {direction}: {moved} of {sent} bytes: {nics}"
        # Eight NICs for two GPUs: four of 400 Gbit/s are one link.
        assert all(0 < row["rate"] <= 4 * 50e9 for row in nics), f"four NICs of 400 Gbit/s carry {nics}"
    nvlinks = [row for row in crossed if "NVLink out" in row["link"] and row["server"].startswith("server 0")]
    assert nvlinks and all(row["rate"] <= 450e9 for row in nvlinks), f"NVLink: {crossed}"
    print(f"{len(crossed)} links, {[(row['link'], round(row['bytes'])) for row in crossed if row['bytes'] > 0]}")


MEMORY = """
    SELECT track.name AS name, min(value) AS least, max(value) AS most, count(DISTINCT value) AS changes
    FROM counter JOIN track ON track.id = track_id WHERE track.name LIKE 'GPU 0 memory: %' GROUP BY 1
"""
VALUES = """
    SELECT track.name AS name, ts, value FROM counter JOIN track ON track.id = track_id
    WHERE track.name LIKE 'GPU 0 memory: %' ORDER BY ts
"""
PARTS = ("parameters", "gradients", "optimizer state", "activations", "other allocations")


def expect_parts_to_be_the_allocations(trace):
    """Expects it at each moment, together."""
    now, last = {}, None
    for row in trace_tables.ask(trace, VALUES) + [{"name": "", "ts": None, "value": 0}]:
        if row["ts"] != last and last is not None:
            parts = sum(now[f"GPU 0 memory: {part}"] for part in PARTS)
            assert parts == now["GPU 0 memory: allocations"], f"at {last}: {now}"
        now[row["name"]], last = row["value"], row["ts"]


def test_counters_of_memory_reach_what_the_report_says_lies_in_it(world):
    for options in ("fused=True", "foreach=True"):
        jobs = [
            world.completed(mlp(options=options), measure=2, outputs=some) for some in (OUTPUTS, "{eventLog: true}")
        ]
        assert world.event_logs(jobs[0]) == world.event_logs(jobs[1]), "looking at memory changes the prediction"
        done, trace = fetch(world, jobs[0])
        assert done.returncode == 0, f"eidolon timeline: {done.stderr}"
        shown = {row["name"].removeprefix("GPU 0 memory: "): row for row in trace_tables.ask(trace, MEMORY)}
        memory = jobs[0]["status"]["prediction"]["memory"]
        assert memory == jobs[1]["status"]["prediction"]["memory"], "looking at memory changes the report"
        names = {"parameters": "parameters", "gradients": "gradients", "optimizerState": "optimizer state"}
        wanted = {name: memory["allocations"][key] for key, name in names.items()}
        wanted["activations"] = memory["allocations"]["activations"]
        wanted |= {"NCCL" if key == "nccl" else key: value for key, value in memory["byCategory"].items()}
        most = {name: shown[name]["most"] for name in wanted}
        assert most == wanted, f"{options}: the timeline reaches {most}, the report says {wanted}"
        # Parameters and what the optimizer keeps stay; gradients and activations come and go.
        assert shown["parameters"]["changes"] == 1 and shown["optimizer state"]["changes"] == 1, f"{shown}"
        assert shown["activations"]["least"] == 0 and shown["activations"]["changes"] >= 4, f"{shown}"
        assert shown["gradients"]["least"] == 0, f"{shown}"
        expect_parts_to_be_the_allocations(trace)
        print(f"{options}: {most}")


def test_a_timeline_shows_the_ranks_that_were_asked_for_and_counts_what_did_not_fit(world):
    script = """
        from ctypes import c_size_t
        for step in range(8):
            for part in range(20):
                rank.runtime.cudaMemsetAsync(rank.source, part, c_size_t(rank.size), rank.stream)
            rank.step(0)
    """
    outputs = "{eventLog: true, timeline: {iterations: 1, ranks: [1], operations: 12}}"
    job = world.completed(script, ranks=2, measure=1, outputs=outputs, light=True)
    without = world.completed(script, ranks=2, measure=1, light=True)
    done, trace = fetch(world, job)
    assert done.returncode == 0, f"eidolon timeline: {done.stderr}"
    ask = lambda sql: trace_tables.ask(trace, sql)

    ranks = [row["name"] for row in ask("SELECT name FROM track WHERE name LIKE 'rank %'")]
    assert ranks == ["rank 1"], f"ranks: {ranks}"
    counts = {
        row["key"]: row["int_value"]
        for row in ask("SELECT key, int_value FROM args JOIN slice USING (arg_set_id) WHERE category = 'iteration'")
    }
    shown = len(ask(OPERATIONS))
    assert shown == 12, f"{shown} operations of at most 12"
    assert counts["debug.operations_left_out"] == counts["debug.operations"] - shown > 0, f"left out: {counts}"
    # Looking does not change what is seen.
    assert world.event_logs(job) == world.event_logs(without), "the timeline changes the prediction"
    done, _ = fetch(world, without)
    assert done.returncode == 1 and "keeps no timeline" in done.stderr, f"a job without a timeline: {done.stderr}"
