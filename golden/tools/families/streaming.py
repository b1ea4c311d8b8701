"""Models of a window of frames, which --stream makes take frame by frame."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, run


class Block(nn.Module):
    """Two causal convolutions, the input added: padding in front, and padding that is cut off behind."""

    def __init__(self, channels, out, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.a = nn.Conv1d(channels, out, 3, dilation=dilation)
        self.b = nn.Conv1d(out, out, 3, dilation=dilation, padding=self.pad)
        self.around = nn.Conv1d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x):
        y = torch.relu(self.a(F.pad(x, (self.pad, 0))))
        y = torch.relu(self.b(y)[:, :, : -self.pad])
        return torch.relu(y + self.around(x))


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(4, 16, 1), Block(16, 16, 2), Block(16, 16, 4))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.blocks(x).transpose(1, 2))


class Keywords(nn.Module):
    def __init__(self, first=0, rest=0):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 32, (10, 4), (2, 2), (first, 1)), nn.BatchNorm2d(32), nn.ReLU())
        layers = []
        for _ in range(3):
            layers += [nn.Conv2d(32, 32, 3, padding=(rest, 1), groups=32), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 1), nn.BatchNorm2d(32), nn.ReLU()]
        self.rest = nn.Sequential(*layers)
        self.head = nn.Linear(32, 6)

    def forward(self, x):
        return torch.softmax(self.head(self.rest(self.first(x)).mean((2, 3))), 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 8, batch_first=True)
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        y, _ = self.gru(x)
        y, _ = self.lstm(torch.tanh(y))
        return self.head(y[:, -1])


def stream_tcn() -> Case:
    """A temporal convolutional network: convolutions with dilation that see no later frames."""
    return Case(TCN().eval(), (torch.randn(1, 4, 48),), runs=[run(torch.randn(1, 4, 48))])


def stream_keywords() -> Case:
    """A keyword net over a window of 48 frames, which it does not pad; a mean over all of it. The second window is the first, 8 frames on."""
    model = _normed(Keywords())
    frames = torch.randn(1, 1, 56, 10)
    return Case(model.eval(), (frames[:, :, :48].clone(),), runs=[run(frames[:, :, 8:].clone())])


def stream_padded() -> Case:
    """A keyword net that pads both ends of its window of 48 frames: 24 rows for the mean."""
    torch.manual_seed(11)
    return Case(_normed(Keywords(4, 1)).eval(), (torch.randn(1, 1, 48, 10),))


def stream_unpadded() -> Case:
    """The net of stream_padded without padding, over the 68 frames that 24 rows for the mean are made of."""
    torch.manual_seed(11)
    return Case(_normed(Keywords()).eval(), (torch.randn(1, 1, 68, 10),))


def _normed(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    return model


def stream_recurrent() -> Case:
    """A GRU and an LSTM, of which the last frame's output counts."""
    return Case(Recurrent().eval(), (torch.randn(1, 12, 5),), runs=[run(torch.randn(1, 12, 5))])
