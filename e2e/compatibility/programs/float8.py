"""torchao: training linear layers in float8, scaled by tensor and by row."""

import torch
from torchao.float8 import Float8LinearConfig, convert_to_float8_training


def main():
    for recipe in ("tensorwise", "rowwise"):
        layers = [torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)]
        model = torch.nn.Sequential(*layers).to("cuda", torch.bfloat16)
        convert_to_float8_training(model, config=Float8LinearConfig.from_recipe_name(recipe))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(6):
            x = torch.randn(256, 512, device="cuda", dtype=torch.bfloat16)
            loss = (model(x) - x).float().square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            print(f"{recipe} step {step} loss {loss.item():.4f}", flush=True)


main()
