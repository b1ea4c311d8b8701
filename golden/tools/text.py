"""Trains a small transformer with a KV cache on nursery rhymes, character by character, and records it as golden/cases/text."""

import os

import torch
from torch import nn
from torch.nn.functional import cross_entropy, layer_norm, linear, scaled_dot_product_attention, silu

from record import ROOT, record

RHYMES = """\
Mary had a little lamb,
its fleece was white as snow,
and everywhere that Mary went
the lamb was sure to go.

Humpty Dumpty sat on a wall,
Humpty Dumpty had a great fall.
All the king's horses and all the king's men
couldn't put Humpty together again.

Jack and Jill went up the hill
to fetch a pail of water.
Jack fell down and broke his crown,
and Jill came tumbling after.

Twinkle, twinkle, little star,
how I wonder what you are!
Up above the world so high,
like a diamond in the sky.

Hickory, dickory, dock,
the mouse ran up the clock.
The clock struck one, the mouse ran down,
hickory, dickory, dock.

Baa, baa, black sheep, have you any wool?
Yes sir, yes sir, three bags full.
One for the master, one for the dame,
and one for the little boy who lives down the lane.

"""

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, STEPS = 128, 128, 48, 4, 2, 1000


class Text(nn.Module):
    """Scores of the next character (ASCII) behind a character at a position; earlier ones are in the cache."""

    def __init__(self):
        super().__init__()
        self.characters = nn.Parameter(torch.randn(VOCABULARY, WIDTH) * 0.1)
        self.positions = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.1)
        self.attention = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS))
        self.project = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.up = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH) for _ in range(LAYERS))
        self.down = nn.ModuleList(nn.Linear(4 * WIDTH, WIDTH) for _ in range(LAYERS))
        self.register_buffer("keys", torch.zeros(LAYERS, HEADS, CONTEXT, WIDTH // HEADS))
        self.register_buffer("values", torch.zeros(LAYERS, HEADS, CONTEXT, WIDTH // HEADS))

    def block(self, i, x, attend):
        """One layer for rows x; attend takes queries, keys and values, [heads, rows, width of a head] each."""
        heads = lambda t: t.unflatten(-1, (HEADS, -1)).transpose(-3, -2)
        q, k, v = self.attention[i](layer_norm(x, (WIDTH,))).chunk(3, -1)
        y = attend(heads(q), heads(k), heads(v)).transpose(-3, -2).flatten(-2)
        x = x + self.project[i](y)
        return x + self.down[i](silu(self.up[i](layer_norm(x, (WIDTH,)))))

    def scores(self, x):
        return linear(layer_norm(x, (WIDTH,)), self.characters)

    def all(self, characters, positions):
        """Scores behind each of many characters, for training."""
        x = self.characters[characters] + self.positions[positions]
        for i in range(LAYERS):
            x = self.block(i, x, lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.scores(x)

    def forward(self, character, position):
        x = self.characters[character] + self.positions[position]
        mask = torch.arange(CONTEXT) <= position
        for i in range(LAYERS):

            def attend(q, k, v):
                self.keys[i].index_copy_(1, position, k)
                self.values[i].index_copy_(1, position, v)
                return scaled_dot_product_attention(q, self.keys[i], self.values[i], mask)

            x = self.block(i, x, attend)
        return self.scores(x)


def train():
    torch.manual_seed(0)
    model = Text()
    text = torch.tensor([ord(c) for c in RHYMES * 2])
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    for step in range(STEPS):
        at = torch.randint(len(RHYMES), (4, 1)) + torch.arange(CONTEXT + 1)
        rows = text[at]
        loss = cross_entropy(model.all(rows[:, :-1], torch.arange(CONTEXT)).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(step, loss.item(), flush=True)
    return model.eval().requires_grad_(False)


def step(character, position):
    return dict(args=(torch.tensor([ord(character)]), torch.tensor([position])))


def main(folder):
    model = train()
    calls = [step(c, i) for i, c in enumerate("Humpty D")]
    record(
        folder,
        model,
        calls[0]["args"],
        runs=calls[1:],
        stateful=True,
        core=False,
        note="a transformer with a KV cache, trained on nursery rhymes: scores of the next character",
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(os.path.join(ROOT, "golden", "cases", "text"))
