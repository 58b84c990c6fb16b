"""The programs of the matrix that e2e/compat runs: what each is, what it needs, and how it is started."""

import dataclasses
import pathlib

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


@dataclasses.dataclass(frozen=True)
class Row:
    key: str  # What --only takes.
    group: str
    name: str
    package: str  # Whose version the page shows.
    command: tuple[str, ...]
    gpus: int = 1
    short: bool = False  # Part of the short form.
    suite: bool = False  # Prints a line for each of its tests; otherwise it only runs or does not.
    seconds: int = 300  # How long it may take on this machine.


def program(name, *words, gpus=1):
    """A program of ours, started as its users would: by torchrun when it has several ranks."""
    return ("torchrun" if gpus > 1 else "python", str(PROGRAMS / name), *words)


TORCH = [
    Row("ddp", "PyTorch", "DDP, autocast, GradScaler, no_sync", "torch", program("ddp_amp.py", gpus=2), 2, True),
    Row("fsdp1", "PyTorch", "FSDP1, mixed precision", "torch", program("fsdp1.py", gpus=2), 2, True),
    Row("fsdp2", "PyTorch", "FSDP2, DCP save and async_save", "torch", program("fsdp2_checkpoint.py", gpus=2), 2, True),
    Row("hsdp", "PyTorch", "HSDP 2 x 2, DCP", "torch", program("fsdp2_checkpoint.py", gpus=4), 4),
    Row("tp", "PyTorch", "tensor, sequence and loss parallel", "torch", program("tensor_parallel.py", gpus=2), 2, True),
    Row("pp", "PyTorch", "pipelines: 1F1B, interleaved", "torch", program("pipeline.py", gpus=2), 2, True),
    Row("cp", "PyTorch", "context parallel attention", "torch", program("context_parallel.py", gpus=2), 2),
    Row("lstm", "PyTorch", "LSTM with CTC loss", "torch", program("lstm_ctc.py"), 1, True),
    Row("func", "PyTorch", "torch.func, gradients of each sample, Muon", "torch", program("per_sample_gradients.py")),
    Row("ppo", "PyTorch", "PPO, environments on the GPU", "torch", program("ppo.py")),
    Row("bags", "PyTorch", "DLRM-like, embedding bags", "torch", program("embedding_bags.py", gpus=2), 2, True),
]


def framework(key, name, package, command, gpus=1, short=False):
    return Row(key, "Frameworks", name, package, command, gpus, short)


FRAMEWORKS = [
    framework("trainer", "Trainer: evaluation, checkpoints", "transformers", program("trainer.py", gpus=2), 2, True),
    framework("mixtral", "Mixtral", "transformers", program("language_models.py", "mixtral")),
    framework("llava", "Llava", "transformers", program("language_models.py", "llava")),
    framework("whisper", "Whisper", "transformers", program("language_models.py", "whisper")),
    framework("lora", "LoRA with Trainer", "peft", program("lora.py", gpus=2), 2, True),
    framework("sft", "supervised fine-tuning", "trl", program("sft.py", gpus=2), 2),
    # It starts its second rank itself.
    framework("lightning", "Trainer, DDP, bf16", "lightning", program("lightning_ddp.py"), 2, True),
    framework("resnet", "ResNet-50, channels last", "timm", program("vision.py", "resnet50")),
    framework("vit", "ViT-S/16", "timm", program("vision.py", "vit_small_patch16_224")),
    framework("detector", "Faster R-CNN", "torchvision", program("vision.py", "detect")),
    framework("diffusion", "conditional UNet", "diffusers", program("diffusion.py")),
]


def accelerate(name, short=True):
    command = ("torchrun", "-m", f"accelerate.test_utils.scripts.test_{name}")
    return Row(f"accelerate-{name}", "Tests of others", f"test_{name}", "accelerate", command, 2, short)


def torch_distributed(key, name, *words):
    command = program("torch_distributed.py", *words)
    return Row(key, "Tests of others", name, "torch", command, 2, suite=True, seconds=7200)


JUDGES = [
    accelerate("script"),
    accelerate("sync"),
    accelerate("ops"),
    torch_distributed("torch-distributed", "distributed_test.py, NCCL, 2 ranks"),
    torch_distributed("torch-distributed-part", "distributed_test.py, each twelfth test", "0/12"),
]

OTHERS = [
    Row("nvcc", "Not PyTorch", "CUDA C++, runtime linked statically", "nvidia-cuda-nvcc", ("saxpy",), 1, True, True),
    Row("cupy", "Not PyTorch", "CuPy, compared with NumPy", "cupy-cuda13x", program("cupy_basics.py"), 1, True, True),
    Row("jax", "Not PyTorch", "a jitted training step", "jax", program("jax_step.py"), short=True),
    Row(
        "jax-sharded",
        "Not PyTorch",
        "a jitted training step, sharded over 2 GPUs",
        "jax",
        program("jax_sharded.py"),
        2,
        short=True,
    ),
]

ROWS = [*TORCH, *FRAMEWORKS, *JUDGES, *OTHERS]
