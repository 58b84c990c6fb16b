"""A small recogniser of speech: convolution, bidirectional LSTM, CTC loss."""

import torch


class Recogniser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.front = torch.nn.Conv1d(80, 256, 3, stride=2, padding=1)
        self.lstm = torch.nn.LSTM(256, 256, num_layers=2, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(512, 29)

    def forward(self, sound):
        x, _ = self.lstm(torch.relu(self.front(sound)).transpose(1, 2))
        return self.head(x).log_softmax(-1)


def main():
    torch.manual_seed(0)
    model = Recogniser().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(10):
        scores = model(torch.randn(8, 80, 200, device="cuda")).transpose(0, 1)
        words = torch.randint(1, 29, (8, 20), device="cuda")
        lengths = torch.full((8,), scores.shape[0]), torch.full((8,), 20)
        loss = torch.nn.functional.ctc_loss(scores, words, *lengths)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
