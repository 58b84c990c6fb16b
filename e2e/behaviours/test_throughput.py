"""The first figures of a prediction: throughput in whatever unit is known, of the iteration that repeats."""

import statistics

# An evaluation after each third step, a checkpoint once.
WORK = """
    import torch
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    data = torch.ones(512, 2048, device="cuda")
    for step in range(16):
        model(data).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 3 == 2:
            with torch.no_grad():
                for _ in range(4):
                    model(data)
            torch.cuda.synchronize()
        if step == 7:
            torch.save(model.state_dict(), "checkpoint.pt")
"""
PLAIN = WORK.replace("step % 3 == 2", "False").replace("step == 7", "False")


def test_the_headline_is_the_step_that_repeats_and_evaluations_and_checkpoints_have_a_price(world):
    job = world.completed(WORK, measure=12)
    prediction = job["status"]["prediction"]
    plain = world.completed(PLAIN, measure=12)["status"]["prediction"]
    times = [one * 1e-12 for one in prediction["iterationPicoseconds"]]
    # An iteration ends with the optimizer: 4, 7, 10 and 13 begin with an evaluation, 9 with the checkpoint.
    repeating = [time for i, time in enumerate(times, 3) if i not in (4, 7, 9, 10, 13)]
    steady = prediction["steadyIteration"]
    assert abs(steady["seconds"] / statistics.median(repeating) - 1) < 0.01, (steady, times)
    assert abs(steady["seconds"] / plain["steadyIteration"]["seconds"] - 1) < 0.01, (steady, plain["steadyIteration"])
    assert prediction["iterationSeconds"]["mean"] > 1.05 * steady["seconds"], prediction["iterationSeconds"]
    found = {one["what"]: one for one in prediction["extraWork"]}
    assert set(found) == {"evaluation", "checkpoint"}, found
    evaluation, checkpoint = found["evaluation"], found["checkpoint"]
    assert evaluation["every"] == 3 and evaluation["times"] == 4, evaluation
    assert abs(evaluation["secondsPerIteration"] - evaluation["seconds"] / 3) < 1e-9, evaluation
    assert checkpoint["times"] == 1 and "every" not in checkpoint, checkpoint
    report = world.eidolon("get", job["metadata"]["name"]).stdout
    assert "+ evaluation every 3 steps: " in report and "+ checkpoint in 1 of 12 steps: " in report, report
    print(report)
    assert "extraWork" not in plain, plain["extraWork"]


def test_throughput_is_the_first_line_in_samples_where_they_are_declared(world):
    job = world.completed(PLAIN, measure=3, boundary="auto, samples: 512")
    throughput, steady = (job["status"]["prediction"][name] for name in ("throughput", "steadyIteration"))
    assert throughput["unit"] == "samples" and throughput["perIteration"] == 512, throughput
    assert abs(throughput["perSecond"] * steady["seconds"] - 512) < 1e-6, throughput
    assert throughput["low"] < throughput["perSecond"] < throughput["high"], throughput
    lines = world.eidolon("get", job["metadata"]["name"]).stdout.splitlines()
    assert lines[1].startswith("  throughput       ") and " samples/s   90 % band " in lines[1], lines


IMAGES = """
    import os, torch
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 7, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(64, 128, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(128, 100)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for step in range(6):
        for part in range(2):
            scores = model(torch.ones(24, 3, 64, 64, device="cuda"))
            torch.nn.functional.cross_entropy(scores, torch.zeros(24, dtype=torch.long, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_samples_of_a_model_of_images_are_derived_from_its_launches(world):
    throughput = world.completed(IMAGES, measure=3, ranks=2)["status"]["prediction"]["throughput"]
    # Two ranks of two micro-batches of 24 images.
    found = {name: throughput[name] for name in ("unit", "perIteration", "source")}
    assert found == {"unit": "samples", "perIteration": 96, "source": "derived"}, throughput
