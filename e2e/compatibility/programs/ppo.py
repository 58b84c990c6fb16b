"""PPO on a batch of environments that are simulated on the GPU: rollouts, advantages, several epochs of updates."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
UPDATES, ENVIRONMENTS, HORIZON, EPOCHS, MINIBATCHES = 8, 256, 16, 2, 4
device = "cuda"


class CartPoles:
    """Many poles on carts, all at once."""

    def __init__(self, count):
        self.state = torch.empty(count, 4, device=device).uniform_(-0.05, 0.05)

    def step(self, action):
        x, v, angle, spin = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        sine, cosine = angle.sin(), angle.cos()
        push = (force + 0.05 * spin**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pull = push - 0.05 * turn * cosine / 1.1
        state = torch.stack([x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn], 1)
        done = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 0.21)
        self.state = torch.where(done[:, None], torch.empty_like(state).uniform_(-0.05, 0.05), state)
        return self.state, torch.ones_like(force), done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, x):
        hidden = self.body(x)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


world, agent = CartPoles(ENVIRONMENTS), Agent().to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
for update in range(UPDATES):
    seen = []
    with torch.no_grad():
        for _ in range(HORIZON):
            state = world.state
            policy, value = agent(state)
            action = policy.sample()
            _, reward, done = world.step(action)
            seen.append((state, action, policy.log_prob(action), value, reward, done))
        states, actions, chances, values, rewards, dones = map(torch.stack, zip(*seen, strict=True))
        following, advantage, advantages = agent(world.state)[1], 0, torch.zeros_like(rewards)
        for t in reversed(range(HORIZON)):
            delta = rewards[t] + 0.99 * following * (1 - dones[t]) - values[t]
            advantages[t] = advantage = delta + 0.99 * 0.95 * (1 - dones[t]) * advantage
            following = values[t]
    returns = (advantages + values).flatten()
    flat = [states.flatten(0, 1), actions.flatten(), chances.flatten(), advantages.flatten()]
    for _ in range(EPOCHS):
        for chosen in torch.randperm(ENVIRONMENTS * HORIZON, device=device).chunk(MINIBATCHES):
            s, a, old, gain = (each[chosen] for each in flat)
            policy, value = agent(s)
            ratio = (policy.log_prob(a) - old).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            actor = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = actor + 0.5 * (value - returns[chosen]).pow(2).mean() - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(f"update {update} loss {loss.item():.4f} return {rewards.sum(0).mean().item():.2f}", flush=True)
