package lower

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
)

// autocaster writes out what PyTorch's autocast for the CPU does: some
// operators get their operands in the lower precision, some in float32, some
// in the widest type among them.
type autocaster struct {
	table   *ops.Table
	settled map[*ir.Node]bool // nodes of an inner autocast, which has decided
	// retyped are values that have another dtype than the file records.
	retyped map[*ir.Value]bool
	warn    func(*ir.Node, error)
	warned  bool
}

// inline replaces an autocast node by its region.
func (a *autocaster) inline(b *ops.Builder, n *ir.Node) []*ir.Value {
	operands := operandsOf(n)
	region := n.Regions[0]
	a.adopt(region, operands[4:])
	if operands[2] != ir.BoolArg(false) {
		if operands[0] != ir.Str("cpu") && operands[0] != ir.Device("cpu") {
			must.Fail("autocast for %v is not supported; export the model for the CPU",
				operands[0])
		}
		low, ok := operands[1].(ir.DTypeArg)
		if !ok {
			must.Fail("autocast to no dtype")
		}
		region = a.cast(b, region, ir.DType(low))
	}
	for _, n := range region.Nodes {
		a.retype(n)
		a.settled[n] = true
	}
	return inlineRegion(b, n, region, operands[4:])
}

// cast returns region r with the casts written out.
func (a *autocaster) cast(b *ops.Builder, r *ir.Graph, low ir.DType) *ir.Graph {
	g := must.Get(b.Region(r.Inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		inner := ops.NewBuilder(a.table, e)
		cache := map[*ir.Value]map[ir.DType]*ir.Value{}
		for _, n := range r.Nodes {
			e.Loc = n.Loc
			if len(n.Regions) > 0 {
				must.Fail("control flow (%s) in it is not supported", foreign.Message(n.Op))
			}
			if d := precision(n, low); d != ir.InvalidDType && !a.settled[n] {
				for i := range n.Args {
					n.Args[i].Value = a.castArg(inner, n.Args[i].Value, d, cache)
				}
			}
			a.retype(n)
			e.Append(n)
		}
		return r.Outputs, nil
	}))
	g.Constants = r.Constants
	return g
}

// adopt gives the inputs of region r the dtypes of operands that autocast changed.
func (a *autocaster) adopt(r *ir.Graph, operands []ir.Arg) {
	for i, in := range r.Inputs {
		if i >= len(operands) {
			return // inlineRegion reports it
		}
		if ref, ok := operands[i].(ir.Ref); ok && a.retyped[ref.Value] &&
			in.Type.Kind == ir.TensorKind {
			in.Type.DType = ref.Value.Type.DType
			a.retyped[in] = true
		}
	}
}

// plain inlines a region that changes no dtypes.
func (a *autocaster) plain(b *ops.Builder, n *ir.Node, operands []ir.Arg) []*ir.Value {
	r := n.Regions[0]
	a.adopt(r, operands)
	for _, n := range r.Nodes {
		a.retype(n)
	}
	return inlineRegion(b, n, r, operands)
}

// castArg casts the tensors of float32 and narrower types in arg to d.
func (a *autocaster) castArg(b *ops.Builder, arg ir.Arg, d ir.DType,
	cache map[*ir.Value]map[ir.DType]*ir.Value) ir.Arg {
	return ir.MapRefs(arg, func(v *ir.Value) ir.Arg {
		if !castable(v) || v.Type.DType == d {
			return ir.Ref{Value: v}
		}
		if cache[v] == nil {
			cache[v] = map[ir.DType]*ir.Value{}
		}
		if cache[v][d] == nil {
			cache[v][d] = b.Op("aten._to_copy.default", v, ops.Kw("dtype", d))
			a.retyped[cache[v][d]] = true
		}
		return ir.Ref{Value: cache[v][d]}
	})
}

// castable reports whether autocast touches v: a floating-point tensor, but no
// float64.
func castable(v *ir.Value) bool {
	return v.Type.Kind == ir.TensorKind && v.Type.DType.IsFloat() && v.Type.DType.Size() >= 2 &&
		v.Type.DType != ir.Float64
}

// retype gives n's results the dtypes that follow from its operands, if autocast
// has changed one of them: torch 2.6 records the dtypes without autocast. It is
// one mistake of a method, of which there is one warning.
func (a *autocaster) retype(n *ir.Node) {
	cast := false
	operands(n, func(v *ir.Value) { cast = cast || a.retyped[v] })
	if !cast || len(n.Regions) > 0 {
		return
	}
	c, err := a.table.Bind(n)
	if err != nil {
		return // reported by the pass that wants the operator
	}
	for i, v := range n.Outputs {
		if v == nil || i >= len(c.Outs) || v.Type.Kind != ir.TensorKind ||
			v.Type.DType == c.Outs[i].DType {
			continue
		}
		if !a.warned {
			a.warned = true
			a.warn(n,
				fmt.Errorf(
					"%w: torch 2.6 records dtypes as they are without autocast; all of them are taken as "+
						"autocast makes them", recordError(v.Name, v.Type, c.Outs[i])))
		}
		v.Type = c.Outs[i]
		a.retyped[v] = true
	}
}

// precision returns the dtype that autocast to low wants n's operands in;
// InvalidDType for as they are.
func precision(n *ir.Node, low ir.DType) ir.DType {
	name, ok := strings.CutPrefix(n.Op, "aten.")
	if !ok {
		return ir.InvalidDType
	}
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
		"conv_tbc", "_convolution", "bmm", "mm", "linalg_vecdot", "baddbmm", "addmm", "addbmm",
		"linear", "matmul", "prelu", "scaled_dot_product_attention", "_native_multi_head_attention":
		return low
	case "avg_pool3d", "binary_cross_entropy", "grid_sampler", "polar", "prod", "quantile",
		"nanquantile", "stft", "cdist", "trace", "view_as_complex", "cholesky", "cholesky_inverse",
		"cholesky_solve", "inverse", "lu_solve", "orgqr", "ormqr", "pinverse", "max_pool3d",
		"max_unpool2d", "max_unpool3d", "adaptive_avg_pool3d", "reflection_pad1d",
		"reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d",
		"mse_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss",
		"poisson_nll_loss", "smooth_l1_loss", "cross_entropy_loss", "l1_loss", "huber_loss",
		"margin_ranking_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
		"ctc_loss", "kl_div", "multilabel_margin_loss", "binary_cross_entropy_with_logits":
		return ir.Float32
	case "stack", "cat", "index_copy":
		widest := ir.InvalidDType
		operands(n, func(v *ir.Value) {
			if castable(v) && (widest == ir.InvalidDType || v.Type.DType.Size() > widest.Size()) {
				widest = v.Type.DType
			}
		})
		return widest
	}
	if strings.HasPrefix(name, "fft_") || strings.HasPrefix(name, "linalg_") {
		return ir.Float32
	}
	return ir.InvalidDType
}
