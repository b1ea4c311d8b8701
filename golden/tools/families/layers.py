"""Layers of networks."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, function, run


def linear() -> Case:
    """A matrix product with bias, two leading dimensions."""
    return Case(nn.Linear(5, 3), (torch.randn(2, 3, 5),))


def one_column() -> Case:
    """Products with one column, which a factor and a mask of one element follow: there is one channel."""

    class Score(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(5, 1)
            self.scale = nn.Parameter(torch.tensor([1.5]))

        def forward(self, x, skip):
            return torch.where(skip, -1.0, self.score(x) * self.scale)

    return Case(Score(), (torch.randn(7, 5), torch.tensor([False])), runs=[run(torch.randn(7, 5), torch.tensor([True]))])


def few_pixels() -> Case:
    """Images of fewer pixels than channels, which rectifiers by channel follow."""

    def block(i, o, **kw):
        return nn.Sequential(nn.Conv2d(i, o, 3, **kw), nn.PReLU(o))

    class Few(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([block(3, 16), block(3, 16, groups=1, stride=2), block(3, 6, groups=3)])
            for m in self.modules():
                if isinstance(m, nn.PReLU):
                    nn.init.uniform_(m.weight, -1, 1)

        def forward(self, x):
            return [f(x) for f in self.layers]

    return Case(Few(), (torch.randn(2, 3, 4, 4),))


def matmul_kinds() -> Case:
    """matmul by rank: vectors, matrix and vector, batches, broadcast batches; addmm with alpha and beta; einsum."""

    def forward(v, w, m, b):
        return (
            v @ w,
            m @ v,
            v @ b,
            b @ m.t(),
            b[:, None] @ b[None],
            torch.addmm(v, m, b[0], beta=0.5, alpha=2.0),
            torch.einsum("bij,kj->bki", b, m),
        )

    return Case(function(forward), (torch.randn(3), torch.randn(3), torch.randn(4, 3), torch.randn(2, 3, 3)))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 5, padding=2)
        self.conv2 = nn.Conv2d(3, 4, 3)
        self.fc1 = nn.Linear(16, 10)
        self.fc2 = nn.Linear(10, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def lenet() -> Case:
    """Convolutions with activation and pooling, then two linear layers: a small LeNet."""
    return Case(LeNet(), (torch.randn(1, 1, 12, 12),))


def conv_batch_norm() -> Case:
    """Batch norm with running statistics after a convolution with and one without bias, then added to the input."""
    body = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU6(), nn.Conv2d(4, 2, 1, bias=False), nn.BatchNorm2d(2))
    for norm in (body[1], body[4]):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def forward(self, x):
            return x + self.body(x)

    return Case(Residual(), (torch.randn(1, 2, 5, 4),))


def conv_grouped() -> Case:
    """Two groups; depthwise with two filters to a channel; a pointwise convolution after."""
    model = nn.Sequential(nn.Conv2d(4, 6, 3, groups=2), nn.Conv2d(6, 12, 3, groups=6, padding=1), nn.Conv2d(12, 3, 1))
    return Case(model, (torch.randn(2, 4, 6, 5),))


def conv_rounded() -> Case:
    """A depthwise convolution whose sums, scaled, are cut to whole numbers: a fused multiply-add gives others."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4, bias=False)
            self.conv.weight.data = F.pad(torch.ones(4, 1, 1, 1), (1, 1, 1, 1))

        def forward(self, x):
            return (self.conv(x) * 3.6 + 0.7).to(torch.int32).to(torch.float32)

    return Case(Model(), (torch.arange(-512, 512).reshape(1, 4, 16, 16) / 4,))


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand, self.project = nn.Conv2d(2, 16, 1), nn.Conv2d(16, 2, 1)
        self.five = nn.Conv2d(16, 16, 5, padding=2, groups=16)
        self.strided = nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=16, bias=False)
        self.row = nn.Conv2d(16, 16, (1, 3), dilation=(1, 2), padding=(0, 2), groups=16)
        self.far = nn.Conv2d(16, 16, 2, padding=(3, 2), groups=16)

    def forward(self, x):
        x = self.expand(x)
        x = self.strided(F.relu6(x + self.five(x)))
        return self.project(self.far(F.relu(self.row(x))))


def conv_depthwise() -> Case:
    """Depthwise convolutions of two images with eights of channels: five by five beside a residual, with a stride, of a row with dilation, with padding that some results see alone."""
    return Case(Depthwise(), (torch.randn(2, 2, 7, 9),))


def conv_dilated() -> Case:
    """Dilation, stride and padding that differ by dimension."""
    return Case(nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(2, 3)), (torch.randn(1, 2, 9, 7),))


class AsymmetricPad(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, stride=2)
        self.same = nn.Conv2d(3, 2, (2, 4), padding="same")

    def forward(self, x):
        return self.same(self.conv(F.pad(x, (0, 1, 2, 1))))


def conv_asymmetric_pad() -> Case:
    """Padding that differs from side to side: a pad before a strided convolution, and "same" with even kernels."""
    return Case(AsymmetricPad(), (torch.randn(1, 2, 7, 8),))


def conv1d() -> Case:
    """One-dimensional convolution with stride and padding, without a batch dimension too."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(2, 3, 4, stride=2, padding=1)

        def forward(self, x):
            return self.conv(x), self.conv(x[1])

    return Case(Twice(), (torch.randn(2, 2, 9),))


def conv_transpose() -> Case:
    """Transposed convolution with stride, padding, output padding and groups."""
    return Case(nn.ConvTranspose2d(4, 6, 3, stride=(2, 3), padding=1, output_padding=(1, 0), groups=2), (torch.randn(1, 4, 3, 3),))


def channels_last_conv() -> Case:
    """Input and weights in channels_last memory; the result keeps it."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).to(memory_format=torch.channels_last)
    return Case(model, (torch.randn(1, 3, 4, 6).contiguous(memory_format=torch.channels_last),))


class JoinedTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.few = nn.Conv2d(16, 4, 3, padding=1)
        self.many = nn.Conv2d(16, 16, 3, padding=1)
        self.last = nn.Conv2d(36, 4, 3)

    def forward(self, x):
        return self.last(torch.cat([torch.cat([self.few(x), x], 1), self.many(x)], 1))


def conv_cat_nested() -> Case:
    """Images joined along channels, one of them joined before from a convolution's and an input, which is the greater part."""
    return Case(JoinedTwice(), (torch.randn(1, 16, 5, 6),))


class Recurrent(nn.Module):
    """The layer alone; state starts at zero."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def lstm() -> Case:
    """One layer, sequence first; all outputs and the last hidden and cell state."""
    return Case(Recurrent(nn.LSTM(3, 4)), (torch.randn(3, 2, 3),))


def lstm_bidirectional() -> Case:
    """Forwards and backwards, batch first."""
    return Case(Recurrent(nn.LSTM(3, 2, bidirectional=True, batch_first=True)), (torch.randn(2, 2, 3),))


def gru() -> Case:
    """One layer; the reset gate acts after the recurrent product with its bias."""
    return Case(Recurrent(nn.GRU(3, 4)), (torch.randn(2, 1, 3),))


def layer_norm_gelu() -> Case:
    """Layer norm over the last two dimensions and over the last; gelu exact and by tanh."""

    def forward(x, weight, bias):
        y = F.gelu(F.layer_norm(x, (3, 8), weight, bias))
        return y, F.gelu(F.layer_norm(y, (8,)), approximate="tanh")

    return Case(function(forward), (torch.randn(2, 3, 8), torch.randn(3, 8), torch.randn(3, 8)))


def attention_causal() -> Case:
    """Scaled dot product attention, causal: two heads of four tokens."""

    def forward(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return Case(function(forward), tuple(torch.randn(1, 2, 4, 3) for _ in range(3)))


def attention_mask() -> Case:
    """Scaled dot product attention with a boolean mask and with an additive one; more keys than queries; own scale."""

    def forward(q, k, v, allowed, bias):
        attend = F.scaled_dot_product_attention
        return attend(q, k, v, attn_mask=allowed), attend(q, k, v, attn_mask=bias, scale=0.3)

    allowed = torch.tensor([[True, True, False, False, True], [True, False, True, True, False]])
    qkv = torch.randn(1, 2, 2, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 3)
    return Case(function(forward), (*qkv, allowed, torch.randn(2, 5)))


def attention_ranks() -> Case:
    """Attention of a query, keys and values of other numbers of dimensions, with heads that repeat and without."""

    def forward(q, k, v, grouped, values):
        attend = F.scaled_dot_product_attention
        return attend(q, k, v), attend(k, q, q), attend(q, grouped, grouped, enable_gqa=True), attend(q, k, values, is_causal=True)

    qkv = torch.randn(4, 3, 8), torch.randn(2, 4, 6, 8), torch.randn(4, 6, 5)
    return Case(function(forward), (*qkv, torch.randn(2, 2, 6, 8), torch.randn(6, 7)))


def attention_regrouped() -> Case:
    """What is attention but for its batches: rows of the scores are cut into more of them between the products, or put together."""

    def forward(q, k, v, w):
        scores = q @ k
        return (
            scores.view(4, 3, 5).softmax(-1).view(2, 6, 5) @ v,
            (q @ k * 0.5).view(2, 3, 2, 5).softmax(-1).view(2, 6, 5) @ v,
            (q @ k * 2).view(4, 3, 5).softmax(-1).view(12, 5) @ w,
        )

    return Case(function(forward), (torch.randn(2, 6, 4), torch.randn(2, 4, 5), torch.randn(2, 5, 4), torch.randn(5, 3)))


def softmax_middle() -> Case:
    """softmax over a middle dimension, log_softmax over the first, large values without overflow."""

    def forward(x):
        return torch.softmax(x, 1), torch.log_softmax(x, 0), torch.softmax(x * 100, -1)

    return Case(function(forward), (torch.randn(2, 5, 3),))


def reduce_dims() -> Case:
    """mean, sum, amax, variance and norm over several dimensions, adjacent and not, with and without keepdim."""

    def forward(x):
        return (
            x.mean((0, 2)),
            x.sum((1, 2), keepdim=True),
            x.mean(),
            x.sum(-1),
            x.amax((0, 1), keepdim=True),
            x.var((1, 2)),
            x.std(0, correction=0),
            torch.linalg.vector_norm(x, dim=(0, 2)),
            x.prod(1),
            x.cumsum(2),
        )

    return Case(function(forward), (torch.randn(2, 3, 4),))


def activations() -> Case:
    """The common activations over a range of values."""

    def forward(x):
        return (
            F.relu6(x),
            F.leaky_relu(x, 0.1),
            F.elu(x),
            F.silu(x),
            F.hardswish(x),
            F.hardsigmoid(x),
            F.softplus(x),
            F.mish(x),
            F.selu(x),
            F.hardtanh(x, -0.5, 2),
            F.prelu(x, torch.tensor([0.25])),
        )

    return Case(function(forward), (torch.linspace(-30, 30, 25),))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        y = F.leaky_relu(self.conv(x) + x, 0.1)
        return F.elu(self.linear(y) + y)


def residual_activation() -> Case:
    """A sum with the input under an activation that chooses, behind a convolution and behind a matrix product."""
    return Case(Residual(), (torch.randn(2, 4, 6),))


def losses() -> Case:
    """Losses and distances, which export leaves whole: of classes with weights, smoothing and one ignored, of pairs, of vectors."""

    def forward(x, t, w, y):
        return (
            F.cross_entropy(x, t, weight=w, label_smoothing=0.1),
            F.cross_entropy(x, t, ignore_index=2, reduction="none"),
            F.cross_entropy(x, y.softmax(1)),
            F.mse_loss(x, y),
            F.smooth_l1_loss(x, y, beta=0.7, reduction="sum"),
            F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=w),
            F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
            F.cosine_similarity(x[:, None], y[None], dim=-1),
            F.pairwise_distance(x, y),
            torch.cdist(x, y),
        )

    return Case(function(forward), (torch.randn(5, 4), torch.tensor([0, 2, 1, 3, 2]), torch.rand(4) + 0.5, torch.randn(5, 4)))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.ModuleList(nn.Conv2d(3, 16, 3, padding=1) for _ in range(4))
        self.narrow = nn.ModuleList(nn.Conv2d(16, 2, 3, padding=1, stride=2) for _ in range(4))
        self.register_buffer("last", torch.zeros(1, 3, 12, 12))

    def forward(self, x):
        wide = [torch.tanh(c(self.last if i == 2 else x)) for i, c in enumerate(self.wide)]
        self.last.copy_(x)
        y = torch.cat([c(w) for c, w in zip(self.narrow, wide)], 1)
        return y, wide[1].mean((2, 3)).sort(1)[0]


def branches() -> Case:
    """Four branches, each wide at first, all of them begun before the first is at its narrow end; one reads state that is then written."""
    runs = [run(torch.randn(1, 3, 12, 12)) for _ in range(2)]
    return Case(Branches(), (torch.randn(1, 3, 12, 12),), runs=runs, stateful=True)


@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """The operator of the package transformers, which multiplies each run of rows with a matrix."""
    ends = [0, *offs.tolist()]
    runs = [input[i:j] @ w for i, j, w in zip(ends, ends[1:], weight)]
    return torch.cat([*runs, input.new_zeros(input.shape[0] - ends[-1], weight.shape[2])])


@grouped.register_fake
def _(input, weight, offs):
    return input.new_empty(input.shape[0], weight.shape[2])


def experts() -> Case:
    """A mixture of experts: rows in the order of their experts, products of runs of rows; some experts get none."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(8, 4)
            self.up = nn.Parameter(torch.randn(4, 8, 8))
            self.down = nn.Parameter(torch.randn(4, 8, 8))

        def forward(self, x):
            weights, chosen = self.router(x).softmax(-1).topk(2)
            order = chosen.reshape(-1).argsort(stable=True)
            counts = torch.histc(chosen.reshape(-1).float(), bins=4, min=0, max=3)
            ends = counts.cumsum(0).int()
            rows = x[order // 2]
            y = grouped(F.gelu(grouped(rows, self.up.transpose(1, 2), ends)), self.down, ends)
            y = y * weights.reshape(-1)[order, None]
            z = F.grouped_mm(rows.bfloat16(), self.up.bfloat16(), offs=ends)
            spread = torch.histc(x, bins=5)
            return torch.zeros_like(x).index_add(0, order // 2, y), z, spread

    return Case(Experts(), (torch.randn(5, 8),), runs=[run(torch.randn(5, 8) + 2)])


def q_dynamic_half() -> Case:
    """Scales and zero points that the run chooses of float16 and bfloat16, of whole tensors and of rows."""
    import torch.ao.quantization.fx._decomposed

    quantized = torch.ops.quantized_decomposed

    def whole(x, lo, hi):
        scale, zero = quantized.choose_qparams.tensor(x, lo, hi, 2**-12, torch.int8)
        q = quantized.quantize_per_tensor.tensor(x, scale, zero, lo, hi, torch.int8)
        return scale, zero, quantized.dequantize_per_tensor.tensor(q, scale, zero, lo, hi, torch.int8, out_dtype=x.dtype)

    class Model(nn.Module):
        def forward(self, x, y):
            a = whole(x, -128, 127)
            b = whole(x.abs() + 1, -8, 7)
            c = whole(y * 1e-5, -128, 127)
            d = quantized.choose_qparams_per_token_asymmetric(x, torch.int8)
            e = quantized.choose_qparams_per_token_asymmetric(y * 3, torch.int8)
            return *a, *b, *c, *d, *e

    return Case(Model(), (torch.randn(3, 7).half(), torch.randn(3, 7).bfloat16()), core=False)


class Depthwise(nn.Module):
    """A depthwise convolution of bytes, 16 channels with a scale each."""

    def __init__(self, window, stride, padding):
        super().__init__()
        import torch.ao.quantization.fx._decomposed

        self.how = stride, padding
        self.register_buffer("weight", torch.randint(-127, 128, (16, 1, *window), dtype=torch.int8))
        self.register_buffer("scales", torch.arange(1, 17) * 2.0**-12)
        self.register_buffer("zeros", torch.zeros(16, dtype=torch.int64))
        self.register_buffer("bias", torch.arange(16) * 0.25)

    def forward(self, x, scale, zero):
        quantized = torch.ops.quantized_decomposed
        w = quantized.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        y = F.conv2d(quantized.dequantize_per_tensor(x, scale, zero, -128, 127, torch.int8), w, self.bias, *self.how, groups=16)
        return quantized.quantize_per_tensor(y, 0.125, -128, -128, 127, torch.int8)


def q_depthwise() -> Case:
    """Depthwise convolutions of bytes alone: windows that slide and do not, zero points at the ends, a scale for each channel."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.slides, self.strides, self.wide = Depthwise((3, 3), 1, 1), Depthwise((5, 3), 2, (2, 1)), Depthwise((2, 6), 1, (0, 3))

        def forward(self, x):
            return self.wide(self.strides(self.slides(x, 0.0625, 127), 0.125, -128), 0.125, -128)

    return Case(Model(), (torch.randint(-128, 128, (1, 16, 9, 11), dtype=torch.int8),), core=False)


def q_depthwise_large() -> Case:
    """Depthwise convolutions of bytes with windows of 5x5 and 7x7: all elements, and every second."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.five, self.seven = Depthwise((5, 5), 1, 2), Depthwise((7, 7), 1, 3)
            self.apart, self.valid = Depthwise((5, 5), 2, 2), Depthwise((7, 7), 2, 0)

        def forward(self, x):
            y = self.seven(self.five(x, 0.0625, 3), 0.125, -128)
            return self.apart(y, 0.125, -128), self.valid(y, 0.125, -128)

    return Case(Model(), (torch.randint(-128, 128, (1, 16, 12, 13), dtype=torch.int8),), core=False)
