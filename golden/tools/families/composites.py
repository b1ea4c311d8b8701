"""Operators outside of Core ATen that PyTorch's layers and losses leave in an exported program."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, function, run


def losses_of_pairs() -> Case:
    """Losses that compare embeddings, rank, or take a distribution's parameters."""

    def forward(x, y, z, sign, classes, several):
        one = sign[:, 0]
        return (
            F.margin_ranking_loss(x, y, sign, margin=0.5),
            F.triplet_margin_loss(x, y, z, margin=0.7),
            F.triplet_margin_loss(x, y, z, p=1.0, swap=True, reduction="none"),
            F.cosine_embedding_loss(x, y, one, margin=0.1),
            F.cosine_embedding_loss(x, y, one, reduction="none"),
            F.hinge_embedding_loss(x, sign, margin=0.8, reduction="sum"),
            F.soft_margin_loss(x, sign),
            F.multi_margin_loss(x, classes),
            F.multi_margin_loss(x, classes, p=2, margin=0.5, weight=torch.tensor([1.0, 0.5, 2.0, 1.5]), reduction="none"),
            F.multilabel_soft_margin_loss(x, several.float()),
            F.poisson_nll_loss(x, y.abs()),
            F.poisson_nll_loss(x.abs(), y.abs() * 3, log_input=False, full=True, reduction="none"),
        )

    sign = torch.tensor([[1.0, -1, 1, 1], [-1, -1, 1, 1], [1, 1, -1, -1]])
    args = (torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4), sign, torch.tensor([1, 3, 0]), sign > 0)
    return Case(function(forward), args)


def hinge_margins() -> Case:
    """A margin is a number of the input's type: 8.375 in bfloat16, -1 among integers."""

    def forward(x, i, sign):
        return (
            F.hinge_embedding_loss(x, sign.bfloat16(), margin=8.396),
            F.hinge_embedding_loss(i, sign.long(), margin=-1.6, reduction="none"),
        )

    x = torch.tensor([-8.5, -1.765625, -4.3125, -2.40625, -7.9375], dtype=torch.bfloat16)
    return Case(function(forward), (x, torch.tensor([-2, 0, 1, 2, -3]), torch.tensor([1.0, 1, 1, 1, -1])))


def embedding_bag() -> Case:
    """Bags of rows: summed, averaged and their maximum; rows that are padding count nothing, a bag may be empty."""

    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.sums = nn.EmbeddingBag(7, 5, mode="sum")
            self.means = nn.EmbeddingBag(7, 5, mode="mean", padding_idx=2)
            self.most = nn.EmbeddingBag(7, 5, mode="max")
            self.ends = nn.EmbeddingBag(7, 5, mode="sum", include_last_offset=True)

        def forward(self, rows, flat, starts, ends, weights):
            return (
                self.sums(rows),
                self.sums(flat, starts, per_sample_weights=weights),
                self.means(flat, starts),
                self.means(rows),
                self.most(flat, starts),
                self.most(rows),
                self.ends(flat, ends),
            )

    rows = torch.tensor([[1, 2, 4], [2, 2, 0], [6, 5, 2]])
    flat = torch.tensor([3, 1, 2, 2, 6, 0, 5, 2])
    return Case(Bags(), (rows, flat, torch.tensor([0, 3, 3, 6]), torch.tensor([0, 2, 2, 7, 8]), torch.randn(8)))


def fake_quantize() -> Case:
    """Quantised and dequantised again at once, per tensor and per channel."""

    def forward(x, scale, zero, scales, zeros):
        return (
            torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -20, 30),
            torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255),
            torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, -8, 7),
        )

    args = (torch.randn(3, 4, 5), torch.tensor(0.02), torch.tensor(100, dtype=torch.int32), torch.rand(4) / 10 + 0.01, torch.tensor([0, 1, -2, 3], dtype=torch.int32))
    return Case(function(forward), args)


def affine_grid() -> Case:
    """The grid of an affine map, in two and three dimensions; what a spatial transformer samples at."""

    def forward(x, flat, solid):
        grid = F.affine_grid(flat, x.shape, align_corners=False)
        return grid, F.grid_sample(x, grid, align_corners=False), F.affine_grid(flat, (2, 1, 3, 2), align_corners=True), F.affine_grid(solid, (2, 1, 2, 3, 4), align_corners=False)

    return Case(function(forward), (torch.randn(2, 3, 5, 4), torch.randn(2, 2, 3) / 2, torch.randn(2, 3, 4)))


def quantiles() -> Case:
    """Quantiles, and statistics that ignore what is no number."""

    def forward(x, q, holes):
        return (
            torch.quantile(x, q, dim=1),
            torch.quantile(x, 0.3),
            torch.quantile(x, q, dim=0, keepdim=True, interpolation="lower"),
            torch.quantile(x, q, interpolation="higher"),
            torch.quantile(x, q, dim=-1, interpolation="midpoint"),
            torch.quantile(x, q, dim=-1, interpolation="nearest"),
            torch.quantile(holes, q, dim=1),
            torch.nanquantile(holes, q, dim=1),
            torch.nanquantile(holes, 0.5, dim=0, keepdim=True),
            torch.nanmean(holes),
            torch.nanmean(holes, dim=(0,), keepdim=True),
        )

    holes = torch.randn(4, 6)
    holes[0, 2] = holes[1, :3] = holes[3] = torch.nan
    return Case(function(forward), (torch.randn(5, 7), torch.tensor([0.0, 0.13, 0.5, 0.9, 1.0]), holes))


def named_splits() -> Case:
    """Splits along the dimension they are named for, ranks raised, and integrals by trapezia."""

    def forward(x, v, s, solid):
        return (
            *torch.hsplit(x, 3),
            *torch.vsplit(x, [1, 3]),
            *torch.dsplit(solid, (2,)),
            *torch.hsplit(v, (1, 4)),
            *torch.atleast_1d(s, v),
            torch.atleast_2d(v),
            *torch.atleast_3d(s, v, x),
            torch.trapezoid(x),
            torch.trapezoid(x, v, dim=1),
            torch.trapezoid(x, dx=0.5, dim=0),
            torch.cumulative_trapezoid(x, dx=2.0),
            torch.cumulative_trapezoid(x, v),
            torch.logspace(-1, 2, 5),
            torch.logspace(0, 4, 3, base=2.0, dtype=torch.float64),
        )

    return Case(function(forward), (torch.randn(4, 6), torch.randn(6).sort().values, torch.tensor(2.5), torch.randn(2, 2, 3)))


def special_functions() -> Case:
    """Functions of torch.special, noise that evaluation leaves out, and vectors' products."""

    def forward(x, y, p):
        return (
            torch.special.xlog1py(p, y.abs()),
            torch.special.xlog1py(0.5, p),
            torch.special.entr(p),
            torch.special.ndtr(x),
            torch.logaddexp2(x, y),
            F.rrelu(x, 0.1, 0.3),
            torch.linalg.cross(x, y),
            torch.cross(x, y, dim=1),
            torch.vander(p[0]),
            torch.addr(x, p[:, 0], y[0], beta=0.5, alpha=2),
        )

    return Case(function(forward), (torch.randn(4, 3), torch.randn(4, 3), torch.rand(4, 3)))


def matrix_factors() -> Case:
    """Cholesky's factors and QR, what follows from them, and permutations of LU."""

    def forward(a, b, x):
        spd = a @ a.mT + 2 * torch.eye(4)
        l = torch.linalg.cholesky(spd)
        u = torch.linalg.cholesky(spd, upper=True)
        tall = a[:, :, :3]
        q, r = torch.linalg.qr(tall)
        return (
            l,
            *torch.linalg.cholesky_ex(-spd[0])[1:],
            torch.cholesky_solve(b, l),
            torch.cholesky_inverse(u, upper=True),
            torch.linalg.solve_triangular(l[:1], b, upper=False),
            torch.linalg.solve_triangular(u, x, upper=True, left=False),
            q,
            r,
            *torch.linalg.qr(tall.mT, mode="complete"),
            torch.linalg.qr(torch.zeros(3, 2) * x[0, :1])[1],
            *torch.linalg.lu(a),
            torch.logdet(spd),
            torch.linalg.tensorinv(spd[0].reshape(2, 2, 4)),
        )

    return Case(function(forward), (torch.randn(2, 4, 4), torch.randn(2, 4, 2), torch.randn(3, 4)), core=False)


def matrix_spectra() -> Case:
    """Powers of matrices, eigenvalues and vectors; what depends on no vector's sign."""

    def forward(a, b):
        s = a + a.mT
        w, v = torch.linalg.eigh(s)
        lower, vectors = torch.linalg.eigh(a[0], UPLO="U")
        return (
            torch.linalg.matrix_power(a, 5),
            torch.linalg.matrix_power(a, -2),
            torch.matrix_power(a[0], 0),
            w,
            v.abs(),
            v @ torch.diag_embed(w) @ v.mT,
            lower,
            vectors * vectors,
            torch.linalg.eigvalsh(b @ b.mT),
            torch.linalg.eigvalsh(b * 0),
        )

    return Case(function(forward), (torch.randn(2, 4, 4), torch.randn(3, 3)), core=False)


def matrix_singular() -> Case:
    """Singular values and vectors, of tall, wide and singular matrices, ranks and norms; what depends on no vector's sign."""

    def ranks(a, b):
        s = b @ b.mT
        norms = [torch.linalg.matrix_norm(a, o, dim=(0, 2), keepdim=True) for o in (2, -2, "nuc")]
        pinv = torch.linalg.pinv(a), torch.linalg.pinv(s, atol=1e-3), torch.linalg.pinv(s, rtol=1e-3, hermitian=True)
        rank = torch.linalg.matrix_rank(a), torch.linalg.matrix_rank(s, atol=1e-3), torch.linalg.matrix_rank(s, rtol=1e-3, hermitian=True)
        return (*norms, *pinv, *rank, torch.linalg.norm(b, 2), torch.norm(b, "nuc"))

    def forward(a, b):
        out = []
        for x in a, a.mT, b @ b.mT, b * 0:
            u, s, vh = torch.linalg.svd(x, full_matrices=False)
            out += [s, u * s.unsqueeze(-2) @ vh]
        u, s, vh = torch.linalg.svd(a)
        v, r, wh = torch.linalg.svd(a.mT)
        low, _, _ = torch.linalg.svd(b @ b.mT)
        p, _, q = torch.svd(a[0])
        eye = [x @ x.mT for x in (u, vh, v, wh, low)]
        return (*out, *eye, s, u[..., :3].abs(), r, p.abs(), q.abs(), torch.linalg.svdvals(b), torch.pinverse(a), torch.pinverse(b @ b.mT, 1e-4), *ranks(a, b))

    return Case(function(forward), (torch.randn(2, 4, 3), torch.randn(4, 2)), core=False)


def linear_systems() -> Case:
    """Inverses, determinants and systems of equations, in batches; rows change places where they must."""

    def forward(a, b, v):
        return torch.linalg.inv(a), torch.linalg.det(a), torch.linalg.solve(a, b), torch.linalg.solve(a, v), torch.inverse(a[0])

    a = torch.randn(2, 4, 4)
    a[0, 0, 0] = 0
    return Case(function(forward), (a, torch.randn(2, 4, 3), torch.randn(2, 4)))


def batch_norm_training() -> Case:
    """Batch norm in training mode: normalises by the batch and keeps running statistics. The calls are stateful."""

    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.BatchNorm2d(3)
            self.own = nn.BatchNorm1d(4, track_running_stats=False)

        def forward(self, x, y):
            self.kept.train()
            return self.kept(x), self.own(y)

        def eval(self):
            return self

    args = [(torch.randn(2, 3, 4, 5), torch.randn(5, 4)) for _ in range(3)]
    return Case(Norms(), args[0], runs=[run(*a) for a in args[1:]], stateful=True)


def adaptive_max_dynamic() -> Case:
    """Windows whose number is fixed over sizes that are not."""

    def forward(x):
        return F.adaptive_max_pool2d(x, (3, 2)), F.adaptive_max_pool1d(x[0], 4, return_indices=True)[1], F.adaptive_avg_pool2d(x, (2, None))

    sizes = {2: torch.export.Dim("h", min=3, max=12), 3: torch.export.Dim("w", min=4, max=14)}
    return Case(function(forward), (torch.randn(1, 2, 7, 9),), runs=[run(torch.randn(1, 2, h, w)) for h, w in ((3, 4), (12, 14), (6, 5))], dynamic_shapes=(sizes,))


def nothing_reduced() -> Case:
    """Whether any or all of no elements are true, and the logarithm of their sum; running sums of one element without dimensions."""

    def forward(x, v, s):
        return (
            *(f(x > 0) for f in (torch.any, torch.all)),
            *(f(x > 0, dim=d) for f in (torch.any, torch.all) for d in (0, 1, (0, 1))),
            v.any(),
            v.all(0),
            v.bool().any(dim=0, keepdim=True),
            v.sum(),
            v.cumsum(0),
            v.prod(),
            s.cumsum(0),
            s.cumprod(0),
            s.cumsum(-1, dtype=torch.float64),
            x.logsumexp(0),
            x.logsumexp((0, 1), keepdim=True),
            x.logsumexp(1),
        )

    return Case(function(forward), (torch.zeros(0, 3), torch.zeros(0), torch.tensor(1.5)))


def conv3d() -> Case:
    """Convolutions of three dimensions: grouped, strided, dilated, padded; a batch that is dynamic."""
    model = nn.Sequential(nn.Conv3d(4, 6, (2, 3, 1), stride=(2, 1, 2), padding=(2, 1, 0), dilation=(2, 1, 1), groups=2), nn.ReLU(), nn.Conv3d(6, 3, (3, 1, 2), bias=False))
    return Case(model, (torch.randn(2, 4, 7, 4, 5),), runs=[run(torch.randn(1, 4, 7, 4, 5))], dynamic_shapes=({0: torch.export.Dim("n", min=1, max=4)},))


def conv_transpose3d() -> Case:
    """Transposed convolutions of three dimensions: grouped, strided, dilated; padded by more than their weights reach along the depth; a batch that is dynamic."""
    model = nn.Sequential(
        nn.ConvTranspose3d(4, 6, (2, 3, 1), stride=(3, 1, 2), padding=(2, 1, 0), output_padding=(1, 0, 1), groups=2),
        nn.ReLU(),
        nn.ConvTranspose3d(6, 3, (2, 1, 2), padding=(0, 0, 1), dilation=(3, 1, 1), bias=False),
    )
    return Case(model, (torch.randn(2, 4, 3, 4, 5),), runs=[run(torch.randn(1, 4, 3, 4, 5))], dynamic_shapes=({0: torch.export.Dim("n", min=1, max=4)},))


def autocast_linear() -> Case:
    """Autocast to bfloat16: torch 2.14 records within its region the dtypes that autocast makes; two regions, the second on what the first gives."""

    class Autocast(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.m = nn.Linear(8, 8), nn.Linear(8, 4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.l(x)
                z = y.float()
            y = y.relu()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                w = self.m(y)
            return z, w

    return Case(Autocast(), (torch.randn(2, 8),))


def upsample_dynamic() -> Case:
    """Interpolation by binary fractions of dynamic sizes: the results' sizes are rounded down."""

    def forward(x):
        half = F.interpolate(x, scale_factor=0.5, mode="bilinear")
        return half, F.interpolate(x, scale_factor=(1.75, 2.0), mode="nearest")

    sizes = {2: torch.export.Dim("h", min=4, max=16), 3: torch.export.Dim("w", min=4, max=16)}
    return Case(function(forward), (torch.randn(1, 2, 6, 8),), runs=[run(torch.randn(1, 2, h, w)) for h, w in ((7, 5), (16, 4))], dynamic_shapes=(sizes,))


def norms() -> Case:
    """Norms of vectors and of matrices, by torch.linalg.norm and by functions of their own."""

    def forward(x, v):
        norm, inf = torch.linalg.norm, float("inf")
        vectors = norm(x), norm(v), norm(v, 3), norm(v, inf), norm(v, 0), norm(x, 1, dim=0), norm(x, -inf, dim=(-1,), keepdim=True), norm(x, dim=(0, 2))
        matrices = norm(x[0], 1), norm(x[0], "fro"), norm(x, inf, dim=(2, 0)), norm(x, -1, dim=(0, 1), keepdim=True), norm(x, -inf, dim=(0, -1))
        return *vectors, *matrices, torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, 1, dtype=torch.float64), norm(x, "fro", dim=(1, 0), keepdim=True)

    return Case(function(forward), (torch.randn(2, 3, 4), torch.randn(5)))


def irregular_in_place() -> Case:
    """In-place operators without functional forms of the same names: diagonals of wide, tall and wrapped matrices and of a cube are filled, quotients rounded down; whether all or any are true."""

    def forward(x, tall, cube):
        return (
            x.clone().fill_diagonal_(2),
            x.clone().floor_divide_(x[0]),
            tall.clone().fill_diagonal_(3),
            tall.clone().fill_diagonal_(3, wrap=True),
            cube.clone().fill_diagonal_(True),
            torch._is_all_true(x > -9),
            torch._is_any_true(cube == 1),
        )

    return Case(function(forward), (torch.randn(3, 5), torch.randn(7, 2), torch.randint(0, 9, (3, 3, 3))))


def matrix_functions() -> Case:
    """Exponentials and conditions of matrices, singular values without vectors, tolerances that are tensors, products of bytes."""

    def forward(a, b, tolerance, x, y, z):
        return (
            torch.matrix_exp(a),
            torch.linalg.matrix_exp(b * 3),
            torch.linalg.cond(a),
            torch.linalg.cond(a, 1),
            torch.linalg.cond(a[0], "fro"),
            torch.linalg.cond(b, -2),
            torch.svd(a, compute_uv=False)[1],
            torch.linalg.matrix_rank(b, tolerance),
            torch.linalg.pinv(b, rcond=tolerance),
            torch._int_mm(x, y),
            torch.special.log_ndtr(z),
        )

    flat = torch.randn(4, 4)
    flat[3] = flat[2]
    return Case(
        function(forward),
        (
            torch.randn(2, 4, 4),
            flat,
            torch.tensor(1e-3),
            torch.randint(-128, 128, (17, 8), dtype=torch.int8),
            torch.randint(-128, 128, (8, 8), dtype=torch.int8),
            torch.cat([torch.randn(9) * 3, torch.tensor([-30.0, 0.0, 30.0])]),
        ),
    )
