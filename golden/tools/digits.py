"""Trains a small convolutional network on scikit-learn's handwritten digits and records it as golden/cases/digits."""

import os
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

from record import ROOT, record, write_tensor

HELD_OUT = 360
EPOCHS = 40


class Digits(nn.Module):
    """Logits of the ten digits for images [n, 1, 8, 8] with values in 0..1."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 24, 3, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(24, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classify = nn.Linear(32 * 2 * 2, 10)

    def forward(self, image):
        return self.classify(self.features(image).flatten(1))


def split():
    """Pixels (uint8, 0..16, [n, 1, 8, 8]) and labels of the training and of the held-out images."""
    data = load_digits()
    pixels = torch.tensor(data.images, dtype=torch.uint8).unsqueeze(1)
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, held_out = order[HELD_OUT:], order[:HELD_OUT]
    return pixels[train], labels[train], pixels[held_out], labels[held_out]


def scaled(pixels):
    return pixels.float() / 16


def train(pixels, labels):
    torch.manual_seed(0)
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    batch = 64
    steps = EPOCHS * (len(labels) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(labels))
        for at in range(0, len(labels) - batch + 1, batch):
            pick = order[at : at + batch]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(scaled(pixels[pick])), labels[pick], label_smoothing=0.05)
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


README = """\
A convolutional network trained on scikit-learn's handwritten digits (`load_digits`: 1,797 real 8×8 images; test part of the UCI data set
"Optical Recognition of Handwritten Digits"), made by `golden/tools/digits.py`. Trained on {trained} images; the other {held_out}, drawn at random, are held out and
were used for nothing but the count below. (The same writers appear in both parts.)

**Accuracy in eager PyTorch on the held-out images: {right} of {held_out} ({percent:.2f} %).** {params:,} parameters, {kib:.1f} KiB.

- `images.bin`: the held-out images as the data set has them, uint8 [{held_out}, 1, 8, 8], values 0..16. The model's input is `pixel / 16` as float32, which is exact.
- `labels.bin`: their true digits, uint8 [{held_out}].
- `logits.bin`: eager's answers, float32 [{held_out}, 10]; the index of the largest is the digit.
- `model.pt2` and the rest: a case in the usual form, batch 1, not folded; the first call and its `runs` are the first held-out image of each digit 0..9.
"""


def main(folder):
    torch.set_num_threads(1)
    pixels, labels, test_pixels, test_labels = split()
    model = train(pixels, labels)
    with torch.no_grad():
        # One by one, as the exported batch-1 model is used.
        logits = torch.cat([model(scaled(p.unsqueeze(0))) for p in test_pixels])
    right = int((logits.argmax(1) == test_labels).sum())

    calls = []
    for digit in range(10):
        first = int((test_labels == digit).nonzero()[0])
        calls.append(dict(args=(scaled(test_pixels[first : first + 1]),), label=str(digit)))
    record(
        folder,
        model,
        calls[0]["args"],
        label=calls[0]["label"],
        runs=calls[1:],
        note="trained on real handwritten digits; `label` is the true digit",
        extra={"labels": [str(d) for d in range(10)]},
    )
    write_tensor(os.path.join(folder, "images.bin"), test_pixels)
    write_tensor(os.path.join(folder, "labels.bin"), test_labels.to(torch.uint8))
    write_tensor(os.path.join(folder, "logits.bin"), logits)
    params = sum(p.numel() for p in model.parameters())
    weights = sum(t.numel() * t.element_size() for t in model.state_dict().values())
    text = README.format(
        trained=len(labels), held_out=HELD_OUT, right=right, percent=100 * right / HELD_OUT, params=params, kib=weights / 1024
    )
    with open(os.path.join(folder, "README.md"), "w") as f:
        f.write(text)
    print(f"digits: {right} of {HELD_OUT} held-out images right, {params} parameters, {weights} bytes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "golden", "cases", "digits"))
