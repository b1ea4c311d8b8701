"""Runs exported convolutional networks by XNNPACK itself, for marks.py: its subgraphs, as ExecuTorch's and LiteRT's delegates build them.

Needs the shared library and its version from outside (Debian: libxnnpack0.20241108), no header. Images are NHWC; batch norms and zero
padding go into the convolutions, activations into what makes their inputs.
"""

import ctypes
import glob
import math
import operator

import torch

LIBRARIES = "/usr/lib/*/libXNNPACK.so.0.*"
INVALID, EXTERNAL_INPUT, EXTERNAL_OUTPUT = 0xFFFFFFFF, 1, 2
FP32, CLAMP_FREE = 1, (-math.inf, math.inf)
aten = torch.ops.aten


def library():
    found = sorted(glob.glob(LIBRARIES))
    return found[-1] if found else None


def version():
    return (library() or "none").rpartition(".")[2]


class External(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint32), ("data", ctypes.c_void_p)]


class Network:
    """A program as a subgraph. ids are XNNPACK's values by node, constants are tensors by node, alias leads to the node whose value it is."""

    def __init__(self, program):
        self.lib = ctypes.CDLL(library())
        self.keep = []  # what XNNPACK points to
        self.ids, self.constants, self.alias, self.pads = {}, {}, {}, {}
        self.subgraph, self.runtime = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("initialize", None)
        self.call("create_subgraph", 2, 0, ctypes.byref(self.subgraph))
        program = program.run_decompositions()
        self.program, state = program, {**program.state_dict, **program.constants}
        names = {**program.graph_signature.inputs_to_parameters, **program.graph_signature.inputs_to_buffers}
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name in names:
                self.constants[node] = state[names[node.name]]
            elif node.op == "placeholder":
                x = self.tensor(tuple(node.meta["val"].shape), external=0, flags=EXTERNAL_INPUT)
                self.ids[node] = self.nhwc(x, node)
            elif node.op == "call_function":
                self.node(node)
            elif node.op == "output":
                (self.result,) = node.args[0]
        shape = tuple(self.result.meta["val"].shape)
        if len(shape) == 4:
            raise ValueError("the result is an image")
        out = self.tensor(shape, external=1, flags=EXTERNAL_OUTPUT)
        self.call("define_copy", self.subgraph, self.id(self.result), out, 0)
        self.call("create_runtime_v2", self.subgraph, None, 0, ctypes.byref(self.runtime))
        self.out = torch.empty(shape)

    def call(self, name, *args):
        """Calls xnn_NAME; Python's integers are 32 bits wide unless they come as a c_size_t."""
        status = getattr(self.lib, "xnn_" + name)(*(ctypes.c_float(a) if isinstance(a, float) else a for a in args))
        if status:
            raise ValueError(f"xnn_{name}: status {status}")

    def bind(self, x):
        """Returns a call of the network with x, whose results go to self.out."""
        x = x.contiguous()
        values = (External * 2)(External(0, x.data_ptr()), External(1, self.out.data_ptr()))
        self.keep.append((x, values))
        self.call("reshape_runtime", self.runtime)
        self.call("setup_runtime_v2", self.runtime, ctypes.c_size_t(2), values)
        invoke, runtime = self.lib.xnn_invoke_runtime, self.runtime
        return lambda: invoke(runtime)

    def sizes(self, values):
        array = (ctypes.c_size_t * len(values))(*values)
        self.keep.append(array)
        return ctypes.c_size_t(len(values)), array

    def tensor(self, shape, data=None, external=INVALID, flags=0):
        if data is not None:
            # XNNPACK may read some bytes beyond the end.
            padded = torch.zeros(data.numel() + 64)
            padded[: data.numel()] = data.contiguous().flatten()
            self.keep.append(padded)
            data = ctypes.c_void_p(padded.data_ptr())
        made = ctypes.c_uint32()
        self.call("define_tensor_value", self.subgraph, FP32, *self.sizes(shape), data, external, flags, ctypes.byref(made))
        return made.value

    def constant(self, t):
        return INVALID if t is None else self.tensor(tuple(t.shape), t)

    def value(self, node):
        """Makes the value of a node; an image's is NHWC."""
        shape = tuple(node.meta["val"].shape)
        self.ids[node] = self.tensor((shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape)
        return self.ids[node]

    def nhwc(self, x, node):
        shape = tuple(node.meta["val"].shape)
        if len(shape) != 4:
            return x
        y = self.tensor((shape[0], *shape[2:], shape[1]))
        self.call("define_static_transpose", self.subgraph, *self.sizes((0, 2, 3, 1)), x, y, 0)
        return y

    def source(self, node):
        while node in self.alias:
            node = self.alias[node]
        return node

    def id(self, node):
        return self.ids[self.source(node)]

    def clamped(self, node):
        """The bounds that the only user of a node puts on it; that user becomes another name of the node."""
        users = list(node.users)
        bounds = bounds_of(users[0]) if len(users) == 1 else None
        if bounds is None:
            return CLAMP_FREE
        self.alias[users[0]] = node
        return bounds

    def node(self, node):
        if node in self.alias:
            return
        if all(a in self.constants for a in node.all_input_nodes):
            args = torch.fx.node.map_arg(node.args, self.constants.get)
            self.constants[node] = node.target(*args, **node.kwargs)
            return
        make = MAKERS.get(node.target)
        if make is None:
            raise ValueError(f"{node.target} is not written for XNNPACK")
        make(self, node, *node.args)

    def convolution(self, node, x, weight, bias, stride, padding, dilation, transposed, _, groups):
        if transposed:
            raise ValueError("a transposed convolution")
        weight, bias, last = self.constants[weight], bias and self.constants[bias], node
        users = list(node.users)
        if len(users) == 1 and users[0].target == aten._native_batch_norm_legit_no_training.default:
            weight, bias = folded(weight, bias, *(self.constants[a] for a in users[0].args[1:5]), users[0].args[6])
            self.alias[users[0]] = node
            last = next(u for u in users[0].users if u.target == operator.getitem and u.args[1] == 0)
            self.alias[last] = node
        bounds = self.clamped(last)
        left, right, top, bottom = self.pads.get(x, (0, 0, 0, 0))
        pad = (top + padding[0], right + padding[1], bottom + padding[0], left + padding[1])
        y, channels = self.value(node), x.meta["val"].shape[1]
        cout, per, *kernel = weight.shape
        bias = self.constant(bias if bias is not None else torch.zeros(cout))
        if per == 1 and groups == channels > 1:
            filters = self.constant(weight.permute(1, 2, 3, 0))
            self.call("define_depthwise_convolution_2d", self.subgraph, *pad, *kernel, *stride, *dilation, cout // channels,
                      ctypes.c_size_t(channels), *bounds, self.id(x), filters, bias, y, 0)  # fmt: skip
            return
        filters = self.constant(weight.permute(0, 2, 3, 1))
        self.call("define_convolution_2d", self.subgraph, *pad, *kernel, *stride, *dilation, groups, ctypes.c_size_t(per),
                  ctypes.c_size_t(cout // groups), *bounds, self.id(x), filters, bias, y, 0)  # fmt: skip

    def linear(self, node, bias, x, weight):
        filters = self.constant(self.constants[weight].t().contiguous())
        bounds = self.clamped(node)
        self.call("define_fully_connected", self.subgraph, *bounds, self.id(x), filters, self.constant(self.constants[bias]), self.value(node), 0)

    def add(self, node, a, b):
        bounds = self.clamped(node)
        self.call("define_add2", self.subgraph, *bounds, self.id(a), self.id(b), self.value(node), 0)

    def clamp(self, node, x, *_):
        self.call("define_clamp", self.subgraph, *bounds_of(node), self.id(x), self.value(node), 0)

    def pad(self, node, x, pads, value=0):
        if value != 0 or len(pads) != 4 or any(u.target != aten.convolution.default for u in node.users):
            raise ValueError("padding that is no convolution's")
        self.alias[node], self.pads[node] = x, pads

    def average(self, node, x, kernel, stride=None, padding=(0, 0), *_):
        if tuple(kernel) == tuple(x.meta["val"].shape[2:]):
            self.mean(node, x, [2, 3], True)
            return
        pad = (padding[0], padding[1]) * 2
        self.call("define_average_pooling_2d", self.subgraph, *pad, *kernel, *(stride or kernel), *CLAMP_FREE, self.id(x), self.value(node), 0)

    def maximum(self, node, x, kernel, stride=None, padding=(0, 0), dilation=(1, 1), ceil=False):
        if ceil:
            raise ValueError("pooling that rounds up")
        image = next(u for u in node.users if u.args[1] == 0)
        y, self.alias[image] = self.value(image), node
        self.ids[node] = y
        pad = (padding[0], padding[1]) * 2
        self.call("define_max_pooling_2d", self.subgraph, *pad, *kernel, *(stride or kernel), *dilation, *CLAMP_FREE, self.id(x), y, 0)

    def mean(self, node, x, dims, keep=False):
        if sorted(d % 4 for d in dims) != [2, 3]:
            raise ValueError("a mean that is not over an image")
        self.call("define_static_mean", self.subgraph, *self.sizes((1, 2)), self.id(x), self.value(node), 0x40 if keep else 0)

    def view(self, node, x, _):
        n, *image = x.meta["val"].shape
        value = self.id(x)
        if len(image) == 3 and image[1] * image[2] > 1:
            planar = self.tensor((n, *image))
            self.call("define_static_transpose", self.subgraph, *self.sizes((0, 3, 1, 2)), value, planar, 0)
            value = planar
        shape = tuple(node.meta["val"].shape)
        if len(shape) == 4:
            raise ValueError("a view that is an image")
        self.call("define_static_reshape", self.subgraph, *self.sizes(shape), value, self.value(node), 0)

    def softmax(self, node, x, dim, _):
        if dim % x.meta["val"].dim() != x.meta["val"].dim() - 1:
            raise ValueError("a softmax that is not over the last dimension")
        self.call("define_softmax", self.subgraph, self.id(x), self.value(node), 0)


def bounds_of(node):
    """The bounds of an activation, None if the node is none."""
    if node.target == aten.relu.default:
        return 0.0, math.inf
    if node.target == aten.hardtanh.default:
        low, high = (*node.args[1:], *(-1.0, 1.0)[len(node.args) - 1 :])
        return float(low), float(high)
    return None


def folded(weight, bias, gamma, beta, mean, var, eps):
    scale = gamma / torch.sqrt(var + eps)
    return weight * scale.reshape(-1, 1, 1, 1), beta + ((0 if bias is None else bias) - mean) * scale


MAKERS = {
    aten.convolution.default: Network.convolution,
    aten.addmm.default: Network.linear,
    aten.add.Tensor: Network.add,
    aten.relu.default: Network.clamp,
    aten.hardtanh.default: Network.clamp,
    aten.constant_pad_nd.default: Network.pad,
    aten.avg_pool2d.default: Network.average,
    aten.max_pool2d_with_indices.default: Network.maximum,
    aten.mean.dim: Network.mean,
    aten.view.default: Network.view,
    aten._softmax.default: Network.softmax,
    operator.getitem: lambda network, node, of, k: None,
}
