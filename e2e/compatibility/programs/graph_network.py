"""PyG: training GraphSAGE and attention layers on a random graph, and a batch of small graphs with pooling."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, SAGEConv, global_mean_pool


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = SAGEConv(32, 64)
        self.second = GATConv(64, 16, heads=4)
        self.last = torch.nn.Linear(64, 5)

    def forward(self, x, edges):
        return self.last(self.second(self.first(x, edges).relu(), edges).relu())


def main():
    torch.manual_seed(1)
    edges = torch.randint(500, (2, 4000), device="cuda")
    x = torch.randn(500, 32, device="cuda")
    classes = torch.randint(5, (500,), device="cuda")
    small = [Data(x=torch.randn(10 + i, 32), edge_index=torch.randint(10 + i, (2, 40))) for i in range(8)]
    batch = Batch.from_data_list(small).to("cuda")
    network = Network().to("cuda")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(6):
        loss = torch.nn.functional.cross_entropy(network(x, edges), classes)
        loss = loss + global_mean_pool(network(batch.x, batch.edge_index), batch.batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
