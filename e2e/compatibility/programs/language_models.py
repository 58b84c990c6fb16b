"""Small forms of transformers' Mixtral, Llava and Whisper, each a few training steps."""

import sys

import torch
import transformers


def mixtral():
    config = transformers.MixtralConfig(
        vocab_size=1000,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        output_router_logits=True,
    )
    tokens = torch.randint(1000, (2, 64), device="cuda")
    return transformers.MixtralForCausalLM(config), {"input_ids": tokens, "labels": tokens}


def llava():
    sight = transformers.CLIPVisionConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, image_size=56, patch_size=14
    )
    words = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4
    )
    config = transformers.LlavaConfig(vision_config=sight, text_config=words, image_token_index=999)
    tokens = torch.randint(900, (2, 64), device="cuda")
    tokens[:, 1:17] = 999
    images = torch.randn(2, 3, 56, 56, device="cuda")
    return transformers.LlavaForConditionalGeneration(config), {
        "input_ids": tokens,
        "pixel_values": images,
        "labels": tokens,
    }


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=1000,
        d_model=128,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_source_positions=100,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    sound = torch.randn(2, 80, 200, device="cuda")
    return transformers.WhisperForConditionalGeneration(config), {
        "input_features": sound,
        "labels": torch.randint(3, 1000, (2, 32), device="cuda"),
    }


def main():
    torch.manual_seed(0)
    model, batch = {"mixtral": mixtral, "llava": llava, "whisper": whisper}[sys.argv[1]]()
    model.cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(8):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
