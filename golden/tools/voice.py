"""Makes a recording of the features in golden/cases/kws_trained: docs/examples/keywords/words.wav.

The features are of real speech, but have ten numbers for 20 ms. The samples are found by descent, so that the features of
each second are those of the case.
"""

import json
import math
import os
import sys
import wave

import torch

from record import ROOT

RATE, WINDOW, STEP, MELS, COEFFICIENTS = 16000, 640, 320, 40, 10
BINS = WINDOW // 2 + 1
WORDS = ("yes", "stop", "left")


def filters():
    """[bins, mels]: triangles between 0 and 8000 Hz, of equal widths in mels, with corners at bins."""
    edges = 700 * (10 ** (torch.linspace(0, 2595 * math.log10(1 + 8000 / 700), MELS + 2) / 2595) - 1)
    left, middle, right = (edges * WINDOW / RATE).long().unfold(0, 3, 1).T
    k = torch.arange(BINS)[:, None]
    up = (k - left) / (middle - left).clamp(min=1)
    down = (right - k) / (right - middle).clamp(min=1)
    return torch.where((left <= k) & (k < middle), up, 0.0) + torch.where((middle <= k) & (k < right), down, 0.0)


FILTERS = filters()
DCT = torch.cos(math.pi / MELS * (torch.arange(MELS)[:, None] + 0.5) * torch.arange(COEFFICIENTS))


def features(x):
    """Ten mel-frequency cepstral coefficients for each frame, as the model was trained with."""
    frames = x.unfold(0, WINDOW, STEP) * torch.hann_window(WINDOW)
    return torch.log(torch.fft.rfft(frames).abs().square() @ FILTERS + 1e-6) @ DCT


def voice(target):
    """Noise, shaped frame by frame to have the features, then changed sample by sample."""
    torch.manual_seed(0)
    frames = len(target)
    back = torch.linalg.pinv(DCT)
    spread = (FILTERS / FILTERS.sum(1, keepdim=True).clamp(min=1e-9)).T  # from a filter to its bins
    phases = torch.polar((FILTERS.sum(1) > 0) * torch.ones(frames, BINS), torch.rand(frames, BINS) * 2 * math.pi)
    at = torch.arange(frames)[:, None] * STEP + torch.arange(WINDOW)
    logs = target @ back
    for _ in range(30):
        parts = torch.fft.irfft(torch.exp(logs / 2 @ spread) * phases) * torch.hann_window(WINDOW)
        x = torch.zeros((frames + 1) * STEP).index_put((at,), parts, accumulate=True)
        logs = logs + 0.5 * (target - features(x)) @ back
    loud = torch.nn.functional.avg_pool1d(x.abs()[None], 81, 1, 40)[0] + 1e-5
    change = torch.zeros(len(x), requires_grad=True)
    optimizer = torch.optim.Adam([change], lr=0.02)
    for step in range(300):
        loss = (features(x + loud * change) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, "mean error of a coefficient", math.sqrt(loss.item()), flush=True)
    return (x + loud * change).detach()


def main():
    folder = os.path.join(ROOT, "golden", "cases", "kws_trained")
    with open(os.path.join(folder, "meta.json")) as f:
        meta = json.load(f)
    calls = {c["label"]: c["inputs"][0]["file"] for c in [meta, *meta["runs"]]}
    silence = torch.randn(RATE // 4, generator=torch.Generator().manual_seed(0)) * 1e-3
    parts = [silence]
    for word in WORDS:
        with open(os.path.join(folder, calls[word]), "rb") as f:
            target = torch.frombuffer(bytearray(f.read()), dtype=torch.float32).reshape(-1, COEFFICIENTS)
        parts += [voice(target), silence]
    samples = (torch.cat(parts) * 32768).round().clamp(-32768, 32767).to(torch.int16)
    with wave.open(os.path.join(ROOT, "docs", "examples", "keywords", "words.wav"), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(RATE)
        f.writeframes(samples.numpy().tobytes())


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
