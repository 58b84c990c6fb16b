"""Training steps of models that no constant of Eidolon has seen, on one GPU, as `steps.py` times its own.

python model_steps.py [--only NAMES] [--trace FOLDER] [--seconds N]

Needs transformers, torchvision, timm, diffusers, peft, torch-geometric, liger-kernel, flash-linear-attention, torchao and
bitsandbytes, each for its own cases.
"""

import argparse
import json
import time
import traceback

import steps
import torch
import torch.nn.functional as F
from steps import bf16, stepper
from torch import nn


def words(count, *shape):
    return torch.randint(0, count, shape, device="cuda")


def language(kind, batch, length, dtype=None, precision=bf16, compiled=False, wrap=None, **shape):
    import transformers

    config = getattr(transformers, kind + "Config")(**shape)
    model = transformers.AutoModelForCausalLM.from_config(config).to("cuda", dtype)
    model.train()
    if wrap:
        model = wrap(model)
    if compiled:
        model = torch.compile(model)
    tokens = words(config.vocab_size, batch, length)
    trained = [p for p in model.parameters() if p.requires_grad]
    return stepper(Trained(model, trained), lambda m: m.model(input_ids=tokens, labels=tokens).loss, precision)


class Trained:
    """A model of which some parameters are trained."""

    def __init__(self, model, parameters):
        self.model, self.trained = model, parameters

    def parameters(self):
        return iter(self.trained)


QWEN3 = dict(
    vocab_size=151936,
    hidden_size=1024,
    intermediate_size=3072,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=8,
    head_dim=128,
)
MIXTRAL = dict(
    vocab_size=32000,
    hidden_size=1024,
    intermediate_size=3584,
    num_hidden_layers=8,
    num_attention_heads=16,
    num_key_value_heads=8,
    num_local_experts=8,
    num_experts_per_tok=2,
)
DEEPSEEK = dict(
    vocab_size=32000,
    hidden_size=1024,
    intermediate_size=4096,
    moe_intermediate_size=512,
    num_hidden_layers=6,
    num_attention_heads=16,
    num_key_value_heads=16,
    n_routed_experts=16,
    num_experts_per_tok=4,
    n_group=4,
    topk_group=2,
    first_k_dense_replace=1,
)
GEMMA3 = dict(
    vocab_size=32000,
    hidden_size=1152,
    intermediate_size=6912,
    num_hidden_layers=12,
    num_attention_heads=4,
    num_key_value_heads=1,
    head_dim=256,
    sliding_window=512,
)


def adapted(model):
    import peft

    return peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))


def quantised(model):
    """QLoRA: linear layers in NF4, adapters beside them."""
    import bitsandbytes as bnb
    import peft

    for module in list(model.model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                layer = bnb.nn.Linear4bit(
                    child.in_features, child.out_features, bias=False, compute_dtype=bf16, quant_type="nf4"
                )
                layer.weight = bnb.nn.Params4bit(child.weight.data.cpu(), requires_grad=False, quant_type="nf4")
                setattr(module, name, layer.cuda())
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    return peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules=targets, task_type="CAUSAL_LM"))


def small_states(batch, length, **shape):
    import bitsandbytes as bnb
    import transformers

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape)).to("cuda", bf16)
    tokens = words(shape["vocab_size"], batch, length)
    optimizer = bnb.optim.AdamW8bit(model.parameters(), 1e-4)

    def step():
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def ligers(model):
    from liger_kernel.transformers import _apply_liger_kernel_to_instance

    _apply_liger_kernel_to_instance(model=model)
    return model


def eight_bits(model):
    from torchao.float8 import convert_to_float8_training

    return convert_to_float8_training(model, module_filter_fn=lambda m, name: "lm_head" not in name)


def encoder_decoder():
    import transformers

    config = transformers.T5Config(
        d_model=768, d_ff=3072, num_layers=12, num_heads=12, d_kv=64, vocab_size=32128, decoder_start_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config).cuda().train()
    source, target = words(32128, 16, 512), words(32128, 16, 128)
    return stepper(model, lambda m: m(input_ids=source, labels=target).loss)


def speech():
    import transformers

    model = transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(
            d_model=768,
            encoder_layers=12,
            decoder_layers=12,
            encoder_attention_heads=12,
            decoder_attention_heads=12,
            encoder_ffn_dim=3072,
            decoder_ffn_dim=3072,
        )
    )
    model = model.cuda().train()
    sound, labels = torch.randn(8, 80, 3000, device="cuda"), words(51865, 8, 200)
    return stepper(model, lambda m: m(input_features=sound, labels=labels).loss)


def waves():
    import transformers

    model = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(mask_time_prob=0.0, layerdrop=0.0)).cuda().train()
    sound, labels = torch.randn(8, 160000, device="cuda"), torch.randint(1, 32, (8, 60), device="cuda")
    return stepper(model, lambda m: m(input_values=sound, labels=labels).loss)


def image(name, batch, size=224, compiled=False, channels_last=True):
    import timm

    model = timm.create_model(name, img_size=size) if "vit" in name or "swin" in name else timm.create_model(name)
    model, pictures = model.cuda().train(), torch.randn(batch, 3, size, size, device="cuda")
    if channels_last:
        model, pictures = model.to(memory_format=torch.channels_last), pictures.to(memory_format=torch.channels_last)
    if compiled:
        model = torch.compile(model)
    labels = words(1000, batch)
    return stepper(model, lambda m: F.cross_entropy(m(pictures), labels), clip=False)


def segmented():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None).cuda().train()
    pictures, labels = torch.randn(8, 3, 512, 512, device="cuda"), words(21, 8, 512, 512)
    return stepper(model, lambda m: F.cross_entropy(m(pictures)["out"], labels), clip=False)


def diffusion():
    """The UNet of Stable Diffusion XL at a quarter of its depth."""
    import diffusers

    model = diffusers.UNet2DConditionModel(
        sample_size=128,
        block_out_channels=(320, 640, 1280),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=(1, 1, 3),
        attention_head_dim=(5, 10, 20),
        cross_attention_dim=2048,
        use_linear_projection=True,
    )
    model = model.cuda().train()
    noisy, truth = (torch.randn(2, 4, 128, 128, device="cuda") for _ in range(2))
    moments, text = words(1000, 2), torch.randn(2, 77, 2048, device="cuda")
    return stepper(model, lambda m: F.mse_loss(m(noisy, moments, text).sample.float(), truth))


def diffusion_transformer():
    import diffusers

    model = diffusers.SD3Transformer2DModel(
        sample_size=64,
        num_layers=8,
        attention_head_dim=64,
        num_attention_heads=24,
        joint_attention_dim=4096,
        caption_projection_dim=1536,
        pooled_projection_dim=2048,
    )
    model = model.cuda().train()
    noisy, truth = (torch.randn(4, 16, 64, 64, device="cuda") for _ in range(2))
    moments, text = words(1000, 4), torch.randn(4, 154, 4096, device="cuda")
    pooled = torch.randn(4, 2048, device="cuda")
    return stepper(
        model,
        lambda m: F.mse_loss(
            m(noisy, encoder_hidden_states=text, pooled_projections=pooled, timestep=moments).sample.float(), truth
        ),
    )


class Volumes(nn.Module):
    """A U-Net of volumes, as medical segmentation has it."""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()

        def twice(inner, outer):
            return nn.Sequential(
                *(nn.Conv3d(inner, outer, 3, padding=1), nn.InstanceNorm3d(outer, affine=True), nn.LeakyReLU(0.01)),
                *(nn.Conv3d(outer, outer, 3, padding=1), nn.InstanceNorm3d(outer, affine=True), nn.LeakyReLU(0.01)),
            )

        self.down = nn.ModuleList(twice(i, o) for i, o in zip((1, *widths), widths))
        self.pool = nn.MaxPool3d(2)
        self.rise = nn.ModuleList(nn.ConvTranspose3d(i, o, 2, 2) for i, o in zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(twice(2 * o, o) for o in widths[-2::-1])
        self.head = nn.Conv3d(widths[0], 4, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            kept.append(block(x if not kept else self.pool(kept[-1])))
        x = kept.pop()
        for rise, block in zip(self.rise, self.up):
            x = block(torch.cat([rise(x), kept.pop()], 1))
        return self.head(x)


def volumes():
    model, scans, labels = Volumes().cuda(), torch.randn(2, 1, 96, 96, 96, device="cuda"), words(4, 2, 96, 96, 96)
    return stepper(model, lambda m: F.cross_entropy(m(scans), labels), precision=torch.float16, clip=False)


class Clicks(nn.Module):
    """DLRM: 26 tables of embeddings, a small network below and above their interactions."""

    def __init__(self, rows=400_000, width=128, tables=26):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))

        def layers(*sizes):
            return nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.ReLU())))

        self.bottom = layers(13, 512, 256, width)
        interactions = (tables + 1) * tables // 2
        self.top = nn.Sequential(layers(interactions + width, 1024, 1024, 512, 256), nn.Linear(256, 1))
        self.register_buffer("pairs", torch.triu_indices(tables + 1, tables + 1, 1))

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        all_of = torch.stack([x, *(t(i) for t, i in zip(self.tables, sparse))], 1)
        interactions = torch.bmm(all_of, all_of.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, interactions], 1))


def clicks():
    model = Clicks().cuda()
    dense, sparse = torch.randn(16384, 13, device="cuda"), [words(400_000, 16384, 1) for _ in range(26)]
    labels = torch.rand(16384, 1, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        F.binary_cross_entropy_with_logits(model(dense, sparse), labels).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def graph():
    import torch_geometric.nn as gnn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([gnn.SAGEConv(128, 256), gnn.SAGEConv(256, 256), gnn.SAGEConv(256, 47)])

        def forward(self, x, edges):
            for layer in self.layers[:-1]:
                x = F.dropout(F.relu(layer(x, edges)), 0.5, self.training)
            return self.layers[-1](x, edges)

    model = Network().cuda()
    x, edges, labels = torch.randn(200_000, 128, device="cuda"), words(200_000, 2, 2_000_000), words(47, 200_000)
    return stepper(model, lambda m: F.cross_entropy(m(x, edges), labels), precision=None, clip=False)


def linear_attention(kind, **shape):
    import fla.models

    config = getattr(fla.models, kind + "Config")(vocab_size=32000, hidden_size=1024, num_hidden_layers=12, **shape)
    model = getattr(fla.models, kind + "ForCausalLM")(config).to("cuda", bf16).train()
    tokens = words(32000, 8, 2048)
    return stepper(model, lambda m: m(input_ids=tokens, labels=tokens).loss, precision=None)


CASES = {
    "qwen3 0.6B b2 t4096": lambda: language("Qwen3", 2, 4096, **QWEN3),
    "qwen3 0.6B b8 t512 bf16 parameters": lambda: language("Qwen3", 8, 512, bf16, None, **QWEN3),
    "mixtral 8 experts b4 t2048 bf16 parameters": lambda: language("Mixtral", 4, 2048, bf16, None, **MIXTRAL),
    "deepseek v3 16 experts b4 t1024 bf16 parameters": lambda: language("DeepseekV3", 4, 1024, bf16, None, **DEEPSEEK),
    "gemma3 12 layers b4 t2048": lambda: language("Gemma3Text", 4, 2048, **GEMMA3),
    "llama 1B lora b4 t2048": lambda: language("Llama", 4, 2048, bf16, None, wrap=adapted, **steps.LLAMA_1B),
    "llama 1B qlora b4 t2048": lambda: language("Llama", 4, 2048, bf16, None, wrap=quantised, **steps.LLAMA_1B),
    "llama 1B adamw 8 bit b4 t2048": lambda: small_states(4, 2048, **steps.LLAMA_1B),
    "llama 1B liger b4 t2048": lambda: language("Llama", 4, 2048, wrap=ligers, **steps.LLAMA_1B),
    "t5 base b16 t512": encoder_decoder,
    "whisper small b8": speech,
    "wav2vec2 base b8": waves,
    "vit_large_patch16_224 b64": lambda: image("vit_large_patch16_224", 64),
    "swin_base b64": lambda: image("swin_base_patch4_window7_224", 64),
    "efficientnet_b4 b64": lambda: image("efficientnet_b4", 64),
    "regnety_160 b64": lambda: image("regnety_160", 64),
    "deeplabv3_resnet50 b8": segmented,
    "unet of sdxl, part, b2": diffusion,
    "sd3 transformer 8 layers b4": diffusion_transformer,
    "unet of volumes b2 fp16": volumes,
    "dlrm b16384 fp32": clicks,
    "graphsage 200k nodes fp32": graph,
    "gla 12 layers b8 t2048": lambda: linear_attention("GLA"),
    "gated deltanet 12 layers b8 t2048": lambda: linear_attention("GatedDeltaNet", num_heads=8, head_dim=128),
    "mamba2 12 layers b8 t2048": lambda: linear_attention("Mamba2", head_dim=64, num_heads=32),
    "llama 1B b4 t2048 compiled": lambda: language("Llama", 4, 2048, compiled=True, **steps.LLAMA_1B),
    "llama 8B 4 layers float8 b1 t8192 compiled": lambda: language(
        "Llama", 1, 8192, bf16, None, compiled=True, wrap=eight_bits, **steps.LLAMA_8B_4
    ),
    "vit_base_patch16_224 b128 compiled": lambda: image("vit_base_patch16_224", 128, compiled=True),
    "resnet50 b128 compiled": lambda: image("resnet50", 128, compiled=True),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="names of cases, separated by semicolons")
    parser.add_argument("--trace", default="", help="folder for the kernels and calls of two steps")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1e9, help="no case begins later than this")
    arguments = parser.parse_args()
    end = time.time() + arguments.seconds
    for name, make in CASES.items():
        if arguments.only and name not in arguments.only.split(";") or time.time() > end:
            continue
        try:
            row = steps.measured(make, arguments.trace, name, arguments.steps)
        except Exception as error:
            row = dict(case=name, failed=f"{type(error).__name__}: {str(error)[:300]}")
            traceback.print_exc()
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()
        torch._dynamo.reset()


if __name__ == "__main__":
    main()
