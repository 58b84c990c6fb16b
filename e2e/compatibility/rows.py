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
    chunk: int = (
        0  # Of suites that run as several jobs (suite.py): how many tests each has; `seconds` are for one test.
    )
    topic: str = ""  # Which of their tests.
    options: tuple[str, ...] = ()  # Of `eidolon run`.
    older: bool = False  # With the stock wheel of CUDA 12, and the frameworks of e2e/older_frameworks.


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
    Row("profiler", "PyTorch", "torch.profiler: its table and trace", "torch", program("profiler.py")),
    Row("compile", "PyTorch", "torch.compile: default, reduce-overhead, dynamic", "torch", program("compile_modes.py")),
    Row("bags", "PyTorch", "DLRM-like, embedding bags", "torch", program("embedding_bags.py", gpus=2), 2, True),
]


# Experts, tokens of a rank's step, experts of a token.
TITAN_ROUTING = ("--expert-routing", "64", "1024", "8")


def framework(key, name, package, command, gpus=1, short=False):
    return Row(key, "Frameworks", name, package, command, gpus, short)


def deepspeed(kind, name):
    return framework(f"deepspeed-{kind}", name, "deepspeed", program("deepspeed_engines.py", kind, gpus=2), 2)


FRAMEWORKS = [
    framework("trainer", "Trainer: evaluation, checkpoints", "transformers", program("trainer.py", gpus=2), 2, True),
    framework("mixtral", "Mixtral", "transformers", program("language_models.py", "mixtral")),
    framework("llava", "Llava", "transformers", program("language_models.py", "llava")),
    framework("whisper", "Whisper", "transformers", program("language_models.py", "whisper")),
    framework("lora", "LoRA with Trainer", "peft", program("lora.py", gpus=2), 2, True),
    framework("sft", "supervised fine-tuning", "trl", program("sft.py", gpus=2), 2),
    # It starts its second rank itself.
    framework("lightning", "Trainer, DDP, bf16", "lightning", program("lightning_ddp.py"), 2, True),
    Row(
        "titan-experts",
        "Frameworks",
        "Qwen 3 with experts on two ranks, their choice declared",
        "torchtitan",
        program("titan_experts.py", gpus=2),
        2,
        seconds=600,
        options=TITAN_ROUTING,
    ),
    framework("resnet", "ResNet-50, channels last", "timm", program("vision.py", "resnet50")),
    framework("vit", "ViT-S/16", "timm", program("vision.py", "vit_small_patch16_224")),
    framework("detector", "Faster R-CNN", "torchvision", program("vision.py", "detect")),
    framework("diffusion", "conditional UNet", "diffusers", program("diffusion.py")),
    framework("sdxl", "UNet and autoencoder of the kind of SDXL", "diffusers", program("diffusion_xl.py")),
    framework("dpo", "direct preference optimization", "trl", program("dpo.py")),
    framework("qlora", "QLoRA: 4-bit weights, 8-bit AdamW", "bitsandbytes", program("qlora.py")),
    framework("liger", "Llama with its Triton kernels", "liger-kernel", program("liger.py")),
    framework("float8", "float8 training, tensorwise and rowwise", "torchao", program("float8.py")),
    framework("xformers", "memory-efficient attention", "xformers", program("attention_of_xformers.py")),
    framework("flash-attn-4", "FlashAttention 4 by CuTe DSL, trained", "flash-attn-4", program("attention_of_cute.py")),
    framework("pyg", "GraphSAGE, attention, pooling", "torch-geometric", program("graph_network.py")),
    deepspeed("zero1", "ZeRO 1"),
    deepspeed("zero2", "ZeRO 2"),
    deepspeed("offload", "ZeRO 3, optimizer and weights on the host"),
    deepspeed("pipeline", "pipeline of two stages"),
]


def accelerate(name, short=True):
    command = ("torchrun", "-m", f"accelerate.test_utils.scripts.test_{name}")
    return Row(f"accelerate-{name}", "Tests of others", f"test_{name}", "accelerate", command, 2, short)


# What these tests were written for. Without it, "nccl" is the ProcessGroup of torch 2.15's default (nccl2).
PROCESS_GROUP_NCCL = ("env", "TORCH_DIST_USE_NCCL2=0")


def torch_distributed(key, topic, gpus, backend="ProcessGroupNCCL"):
    name = f"distributed_test.py, {topic}, {backend}, {gpus} ranks"
    switch = PROCESS_GROUP_NCCL if backend == "ProcessGroupNCCL" else ()
    command = (*switch, *program("torch_distributed.py", str(gpus)))
    return Row(key, "Tests of others", name, "torch", command, gpus, suite=True, seconds=180, chunk=16, topic=topic)


NUMBA_TESTS = Row(
    "numba",
    "Tests of others",
    "its own tests of kernels (cudapy)",
    "numba-cuda",
    program("numba_tests.py"),
    suite=True,
    seconds=60,
    chunk=40,
    topic="cudapy",
)

JUDGES = [
    accelerate("script"),
    accelerate("sync"),
    accelerate("ops"),
    torch_distributed("torch-collectives", "collectives", 2),
    torch_distributed("torch-training", "training", 2),
    torch_distributed("torch-collectives-4", "collectives", 4),
    torch_distributed("torch-training-4", "training", 4),
    torch_distributed("torch-collectives-nccl2", "collectives", 2, "nccl2 (default)"),
    torch_distributed("torch-training-nccl2", "training", 2, "nccl2 (default)"),
    NUMBA_TESTS,
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


def older(row):
    """The same program with the wheel of CUDA 12."""
    return dataclasses.replace(row, key=f"{row.key}-cuda12", group="PyTorch for CUDA 12", short=False, older=True)


# What needs no other package than the older frameworks' list has.
WITHOUT_PACKAGES = ("mixtral", "llava", "whisper", "deepspeed-zero1", "deepspeed-zero2", "deepspeed-pipeline")
OLDER = [older(row) for row in (*TORCH, *FRAMEWORKS) if row in TORCH or row.key in WITHOUT_PACKAGES]

ROWS = [*TORCH, *FRAMEWORKS, *JUDGES, *OTHERS, *OLDER]
