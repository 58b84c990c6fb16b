"""The critical path of a job is its iteration, and lies where the iteration waited."""

import json
import re

import pytest
from jobs import expect_complete, light_script
from recordings import PIPELINE, record, replay
from server import environment_of

# Rank 1 multiplies more, so that every all-reduce waits for it.
UNEVEN = """
    weight = torch.zeros(4096, 4096, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    batch = torch.ones(2048, 4096).pin_memory()
    for step in range(8):
        data = batch.to("cuda", non_blocking=True)
        for _ in range(8 if rank == 1 else 1):
            loss = (data @ weight).square().mean()
        loss.backward()
        dist.all_reduce(weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
"""

# Nearly all of a step is a large all-reduce.
COMMUNICATING = """
    rank = light.Rank(64 << 20)
    for step in range(8): rank.step(0)
"""

# Rank 1 writes more.
UNEVEN_WRITES = """
    from ctypes import c_size_t
    rank = light.Rank(64 << 20)
    for step in range(8):
        for _ in range(40 if rank.rank == 1 else 1):
            rank.runtime.cudaMemsetAsync(rank.source, step, c_size_t(rank.size), rank.stream)
        rank.step(0)
"""

# One NIC at each leaf, and an eighth of its bandwidth above.
SPINE = {"preset": "leaf-spine", "cardsPerLeaf": 1, "oversubscription": 8}


def path_of(job):
    """The critical path, whose parts were added up."""
    prediction = job["status"]["prediction"]
    path = prediction["criticalPath"]
    for parts in ("kinds", "ranks"):
        total = sum(part["picoseconds"] for part in path[parts])
        assert total == path["picoseconds"], f"{parts} are {total} ps of {path['picoseconds']}: {path[parts]}"
    kinds = {kind["kind"]: kind["share"] for kind in path["kinds"]}
    communication = sum(kind["picoseconds"] for kind in path["kinds"] if kind["kind"] == "communication")
    on_links = sum(link["picoseconds"] for link in path["links"])
    assert on_links == communication, f"links are {on_links} ps of {communication}: {path['links']}"
    for link in path["links"]:
        named = sum(one["picoseconds"] for one in path["namedLinks"] if one["link"] == link["link"])
        assert named <= link["picoseconds"], f"{link['link']}: {path['links']}, by name {path['namedLinks']}"
    print(f"{path['picoseconds']} ps, {path['segments']} segments, {path['rankChanges']} changes of rank: {kinds}")
    return path, kinds


KEPT = "{timeline: {iterations: 1}, recording: true}"


@pytest.fixture(scope="module")
def uneven(world):
    """A job of UNEVEN, its document and its recording."""
    return record(world, UNEVEN, ranks=2, measure=2, outputs=KEPT, nccl=True)


def test_the_critical_path_is_the_iteration_to_the_picosecond_and_lies_on_the_slow_rank(uneven):
    job, *_ = uneven
    path, kinds = path_of(job)

    iterations = job["status"]["prediction"]["iterationPicoseconds"]
    assert path["picoseconds"] == iterations[0], f"the report says {iterations}, the path {path['picoseconds']}"
    assert path["iteration"] == 3 and path["ranksShown"] == 2 and path["operationsLeftOut"] == 0, f"{path}"
    assert "unknown" not in kinds, f"not known: {kinds}, {path['operations']}"
    assert {"kernels", "communication", "launches", "host"} <= set(kinds), f"kinds: {kinds}"
    longest = path["ranks"][0]
    assert longest["rank"] == 1 and longest["share"] > 0.6, f"it waits for rank 1: {path['ranks']}"
    names = {operation["name"] for operation in path["operations"]}
    assert "ncclAllReduce" in names, f"operations: {names}"
    links = {link["link"]: link["share"] for link in path["links"]}
    assert links.get("nvlink", 0) > 0.4 and not {"nic", "unknown"} & set(links), f"64 MiB over NVLink: {links}"


def test_communication_of_the_critical_path_is_on_the_narrowest_links(world):
    clusters = {}
    for gbps, fabric, narrowest in ((25, {"preset": "leaf-spine"}, "nic"), (400, SPINE, "leaf")):
        server = {"preset": "dgx-h100", "gpusPerServer": 1, "nics": {"count": 1, "gbps": gbps}}
        clusters[narrowest] = {"servers": 2, "server": server, "fabric": fabric}
    run, document, file = record(
        world, COMMUNICATING, servers=2, measure=2, cluster=clusters["nic"], outputs=KEPT, light=True
    )
    other = lambda text: re.sub("cluster: .*", f"cluster: {json.dumps(clusters['leaf'])}", text)
    for narrowest, job in (("nic", run), ("leaf", replay(world, document, file, other))):
        expect_complete(job)
        path, _ = path_of(job)
        longest = path["links"][0]
        assert longest["link"] == narrowest and longest["share"] > 0.5, f"{clusters[narrowest]}: {path['links']}"
        named = path["namedLinks"][0]
        word = {"nic": "NIC 0 of server ", "leaf": "leaf "}[narrowest]
        assert named["link"] == narrowest and named["name"].startswith(word), f"by name: {path['namedLinks']}"
        print(f"{named['name']}: {named['share']:.3f} of communication")


def test_the_critical_path_of_a_pipeline_goes_through_its_stages(world):
    job = world.completed(PIPELINE, ranks=2, measure=2, outputs="{timeline: {iterations: 1}}", nccl=True)
    path, kinds = path_of(job)

    iterations = job["status"]["prediction"]["iterationPicoseconds"]
    assert path["picoseconds"] == iterations[0], f"the report says {iterations}, the path {path['picoseconds']}"
    assert path["rankChanges"] >= 2, f"it stays on one stage: {path}"
    rules = [finding["rule"] for finding in job["status"]["prediction"]["diagnosis"]]
    assert rules[0] == "pipeline", f"each stage waits for the other: {job['status']['prediction']['diagnosis']}"
    assert kinds.get("unknown", 0) == 0, f"not known: {kinds}, {path['operations']}"


def test_a_critical_path_names_the_ranks_and_operations_that_it_does_not_see(world, uneven):
    _, document, file = uneven

    def seen(limits):
        job = replay(
            world, document, file, lambda text: text.replace("{iterations: 1}", f"{{iterations: 1, {limits}}}")
        )
        expect_complete(job)
        return path_of(job)

    path, kinds = seen("ranks: [0]")
    unseen = [o for o in path["operations"] if o["name"] == "waits for ranks that are not shown"]
    assert path["ranksShown"] == 1 and unseen and unseen[0]["kind"] == "unknown", f"rank 1 is hidden: {path}"

    path, kinds = seen("operations: 12")
    assert path["operationsLeftOut"] > 0 and kinds.get("unknown", 0) > 0, f"twelve operations tell it all: {path}"


def test_run_and_replay_report_the_same_critical_path(world):
    folder = world.fresh_folder()
    (folder / "train.py").write_text(light_script(folder, UNEVEN_WRITES))

    def command(*words):
        done = world.command(*words, cwd=folder, env=environment_of(world.python))
        assert done.returncode == 0, f"{words}: {done.returncode} {done.stderr[-1000:]}"
        return done.stdout

    ran = command(
        "run", "--critical-path", "--record", "step.eidrec", "--host-model", "fixed", "--gpus-per-server", "2",
        "--warmup", "2", "--measure", "2", "-o", "json", "--", "python", "train.py",
    )  # fmt: skip
    replayed = command("replay", "step.eidrec", "--critical-path", "-o", "json")
    one, other = (json.loads(text)["status"]["prediction"]["criticalPath"] for text in (ran, replayed))
    assert one == other, f"run {one}, replay {other}"
    report = command("replay", "step.eidrec", "--critical-path")
    assert "  critical path    copies" in report and "changes of rank among 2" in report, report
    assert "critical path" not in command("replay", "step.eidrec"), "a replay without the flag reports it"
