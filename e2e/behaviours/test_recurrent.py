"""Recurrent networks and the losses of speech, which PyTorch leaves to cuDNN's older interface."""

RECURRENT = """
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    x = torch.randn(4, 20, 64, device="cuda")
    networks = [
        torch.nn.LSTM(64, 128, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True).cuda(),
        torch.nn.LSTM(64, 128, batch_first=True, proj_size=32).cuda(),
        torch.nn.GRU(64, 128, batch_first=True, bias=False).cuda(),
        torch.nn.RNN(64, 128, batch_first=True).cuda().half(),
    ]
    heads = [torch.nn.Linear(width, 30, device="cuda") for width in (256, 32, 128, 128)]
    parameters = [p for each in networks + heads for p in each.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    labels = torch.randint(1, 30, (20,), dtype=torch.int32)
    def four(length, device):
        on_device = torch.full((4,), length, dtype=torch.int32, device=device)
        return on_device if device == "cuda" else on_device.tolist()
    for step in range(8):
        for network, head in zip(networks, heads):
            like = next(network.parameters()).dtype
            packed, _ = network(pack_padded_sequence(x.to(like), [20, 17, 9, 3], batch_first=True))
            packed, _ = pad_packed_sequence(packed, batch_first=True)
            y, _ = network(x.to(like))
            classes = head((packed + y).float()).transpose(0, 1).log_softmax(2)
            # Lengths on the host, and on the device.
            for device in ("cpu", "cuda"):
                loss = torch.nn.functional.ctc_loss(classes, labels.to(device), four(20, device), four(5, device))
                loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
    with torch.no_grad():
        shapes = [tuple(each.eval()(x.to(next(each.parameters()).dtype))[0].shape) for each in networks]
    assert shapes == [(4, 20, 256), (4, 20, 32), (4, 20, 128), (4, 20, 128)], shapes
"""


def test_recurrent_networks_train_and_their_iterations_are_predicted(world):
    job = world.completed(RECURRENT)
    prediction = job["status"]["prediction"]
    assert not prediction.get("refusedCalls"), f"refused: {prediction.get('refusedCalls')}"
    coverage = prediction["coverage"]
    assert coverage.get("assumed", 0) == 0 and coverage["modelled"] > 0.5, f"{coverage}"
    # Backward and forward of 2 + 2 + 1 + 1 layers and directions, twice over 20 steps, are more than 400 cells.
    milliseconds = 1000 * prediction["iterationSeconds"]["mean"]
    assert 1 < milliseconds < 40, f"an iteration takes {milliseconds} ms"
