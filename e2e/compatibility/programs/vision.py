"""timm's ResNet-50 and vision transformer, and torchvision's detector, each a few steps on small images."""

import sys

import timm
import torch
import torchvision


def classify(name):
    model = timm.create_model(name, num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(8):
        images = torch.randn(8, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), torch.randint(10, (8,), device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


def detect():
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=256, max_size=256
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    boxes = torch.tensor([[10.0, 10.0, 100.0, 100.0], [50.0, 60.0, 200.0, 220.0]], device="cuda")
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device="cuda")} for _ in range(2)]
    for step in range(6):
        losses = model([torch.randn(3, 256, 256, device="cuda") for _ in range(2)], targets)
        loss = sum(losses.values())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


if sys.argv[1] == "detect":
    detect()
else:
    classify(sys.argv[1])
