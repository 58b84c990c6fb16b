"""Lightning's Trainer on two devices."""

import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.layers(x), y)
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(320, 64), torch.randint(10, (320,)))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    trainer = lightning.Trainer(
        accelerator="gpu",
        devices=2,
        strategy="ddp",
        max_steps=10,
        precision="bf16-mixed",
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Model(), loader)
    print(f"loss {trainer.callback_metrics['loss'].item():.4f}", flush=True)


main()
