package ops_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// TestAnyArguments calls every entry with arguments of every sort, most of them
// wrong. Errors are fine, panics are not.
func TestAnyArguments(t *testing.T) {
	r := samples.NewRand(3)
	table := ops.Standard()
	s := sym.NewSymbol("s0", 0, 50)
	bound := 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		for range tier.Of(20, 100, 100) {
			n := &ir.Node{Name: "n", Op: name}
			for _, p := range op.ParsedSchema().Args {
				if (p.HasDefault || p.Type.Optional) && r.IntN(2) == 0 {
					continue
				}
				n.Args = append(n.Args, ir.NamedArg{Name: p.Name, Value: anyArg(r, p.Type, s)})
			}
			if err := useEntry(table, n, &bound); err != nil {
				t.Errorf("%s(%v): %v", name, describeCall(n), err)
				break
			}
		}
	}
	if bound < tier.Of(200, 1000, 1000) {
		t.Errorf("only %d calls were right", bound)
	}
}

func useEntry(table *ops.Table, n *ir.Node, bound *int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	c, e := table.Bind(n)
	if e != nil {
		return nil
	}
	*bound++
	op := c.Op
	if op.View != nil {
		views, _ := op.View(c)
		for i, v := range views {
			v.Map(coordsOf(c.Outs[i]))
		}
	}
	if op.Compute != nil {
		_, _ = op.Compute(c)
	}
	if op.Loops != nil {
		_, _ = op.Loops(c)
	}
	if op.Value != nil && len(c.Scalars()) == 0 {
		_, _ = op.Value(c)
	}
	if op.ScalarOp != nil {
		_, _ = op.ScalarOp(c)
	}
	if op.Decompose != nil {
		_, _ = ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) ([]ir.Arg, error) {
				_, err := ops.NewBuilder(table, e).Decompose(c)
				return nil, err
			})
	}
	return nil
}

// anyArg returns an argument that fits t nine times out of ten.
func anyArg(r *samples.Rand, t *aten.Type, s *sym.Symbol) ir.Arg {
	if r.IntN(10) == 0 {
		t = &aten.Type{Name: []string{"Tensor", "int", "float", "bool", "str", "None",
			"Scalar"}[r.IntN(7)]}
	}
	if t.IsList() {
		list := ir.List{}
		n := r.IntN(4)
		if t.Size > 0 && r.IntN(4) > 0 {
			n = t.Size
		}
		for range n {
			list = append(list, anyArg(r, t.Elems[0], s))
		}
		return list
	}
	if t.Optional && r.IntN(3) == 0 {
		return ir.None{}
	}
	switch t.Name {
	case "Tensor":
		return ir.Ref{Value: &ir.Value{Name: "x", Type: anyTensor(r, s)}}
	case "int", "SymInt":
		switch r.IntN(12) {
		case 0:
			return ir.Ref{Value: &ir.Value{Name: "n", Type: ir.SymInt(s.Expr())}}
		case 1:
			return ir.Int([]int64{math.MaxInt64, math.MinInt64, -100, 1 << 40}[r.IntN(4)])
		}
		return ir.Int(r.IntN(6) - 2)
	case "Scalar", "number":
		switch r.IntN(8) {
		case 0:
			return ir.Ref{Value: &ir.Value{Name: "f", Type: ir.Type{Kind: ir.FloatKind}}}
		case 1:
			return ir.Complex(1i)
		case 2:
			return ir.BoolArg(true)
		case 3:
			return ir.Float(math.NaN())
		case 4:
			return ir.Ref{Value: &ir.Value{Name: "n", Type: ir.Type{Kind: ir.IntKind}}}
		}
		return ir.Int(r.IntN(5) - 2)
	case "float", "SymFloat":
		return ir.Float([]float64{0, 0.5, 1, -1, math.Inf(1), math.NaN()}[r.IntN(6)])
	case "bool", "SymBool":
		return ir.BoolArg(r.IntN(2) == 0)
	case "str":
		return ir.Str([]string{"none", "tanh", "floor", "same", "valid", "constant", "reflect",
			"mean", ""}[r.IntN(9)])
	case "ScalarType":
		return ir.DTypeArg(1 + r.IntN(18))
	case "Layout":
		return ir.LayoutArg(7)
	case "Device":
		return ir.Device("cpu")
	case "MemoryFormat":
		return ir.MemoryFormat(1 + r.IntN(4))
	}
	return ir.None{}
}

func anyTensor(r *samples.Rand, s *sym.Symbol) ir.Type {
	d := []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Int64, ir.Int64, ir.Bool, ir.Float16,
		ir.BFloat16, ir.Float64, ir.Uint8, ir.Complex64, ir.Uint16, ir.Float8E4M3FN}[r.IntN(13)]
	sizes := make([]sym.Expr, r.IntN(5))
	for i := range sizes {
		sizes[i] = sym.Int(r.Int64N(4))
		if r.IntN(10) == 0 {
			sizes[i] = s.Expr()
		}
	}
	t := ir.TensorOf(d, sizes...)
	if len(sizes) > 1 && r.IntN(3) == 0 {
		t.Sizes[0], t.Sizes[1] = t.Sizes[1], t.Sizes[0]
		t.Strides[0], t.Strides[1] = t.Strides[1], t.Strides[0]
	}
	return t
}

func describeCall(n *ir.Node) string {
	out := ""
	for _, a := range n.Args {
		if r, ok := a.Value.(ir.Ref); ok {
			out += fmt.Sprintf("%s=%v, ", a.Name, r.Value.Type)
			continue
		}
		out += fmt.Sprintf("%s=%v, ", a.Name, a.Value)
	}
	return out
}

// ignored are the integer arguments that entries take without a look, and why.
var ignored = map[string]string{
	"torch_nn._linear_cross_entropy_batch_chunked.default batch_chunk_size":              "it divides the work",
	"torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default batch_chunk_size": "it divides the work",
	"aten.max_unpool3d.default padding":                                                  "output_size says where elements go",
	"aten.max_unpool3d.default stride":                                                   "output_size says where elements go",
	"aten.embedding.default padding_idx":                                                 "it is of the gradient alone",
	"cortex_m.quantized_avg_pool2d.default zero_point":                                   "a mean keeps it",
	"cortex_m.quantized_avg_pool2d.default multiplier":                                   "the kernel has no other scale",
	"cortex_m.quantized_avg_pool2d.default shift":                                        "the kernel has no other scale",
	"cortex_m.quantized_max_pool2d.default input_zero_point":                             "a maximum keeps it",
	"cortex_m.quantized_max_pool2d.default output_zero_point":                            "a maximum keeps it",
	"cortex_m.softmax.default input_zero_point":                                          "it cancels out",
}

// whyIgnored tells why an entry may ignore an argument, "" if it may not.
func whyIgnored(op, arg string) string {
	if strings.HasPrefix(op, "quantized_decomposed.") && (strings.HasSuffix(arg, "quant_min") ||
		strings.HasSuffix(arg, "quant_max")) && !strings.HasPrefix(arg, "out") &&
		!strings.Contains(op, ".quantize_") && !strings.Contains(op, ".choose_") {
		return "the range of what is read; kernels look at it to check the dtype alone"
	}
	return ignored[op+" "+arg]
}

// TestArgumentsMatter changes each integer of each sample. An argument of an operator
// of which no change is refused, and none means anything else, is ignored: a file in
// which it contradicts the operands would give wrong numbers without a word.
func TestArgumentsMatter(t *testing.T) {
	table := ops.Standard()
	pairs, refused := 0, map[string]bool{}
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		matters := map[string]bool{} // false: only ignored so far
		for _, s := range samples.Of(op, samples.NewRand(1)) {
			was, err := meaning(table, s.Node(op))
			if err != nil {
				continue
			}
			for k, a := range s.Args {
				for _, x := range changed(a.Value) {
					m := s
					m.Args = slices.Clone(s.Args)
					m.Args[k].Value = x
					is, err := meaning(table, m.Node(op))
					refused[name+" "+a.Name] = refused[name+" "+a.Name] || err != nil
					matters[a.Name] = matters[a.Name] || err != nil || is != was
				}
			}
		}
		for arg, does := range matters {
			pairs++
			if why := whyIgnored(name, arg); does == (why != "") {
				t.Errorf("%s: that argument %s matters is %v; ignored: %q", name, arg, does, why)
			}
		}
	}
	t.Logf("%d arguments", pairs)
	// Those that say again what follows from the operands: any change contradicts them.
	for _, arg := range []string{"native_group_norm.default N", "native_group_norm.default C",
		"native_group_norm.default HxW", "native_group_norm_backward.default N",
		"native_group_norm_backward.default C", "native_group_norm_backward.default HxW",
		"native_group_norm_backward.default group", "native_layer_norm.default normalized_shape",
		"native_layer_norm_backward.default normalized_shape", "layer_norm.default normalized_shape",
		"rms_norm.default normalized_shape", "convolution_backward.default output_padding",
		"convolution.default output_padding", "convolution.default padding",
		"im2col.default padding", "kthvalue.default k", "hsplit.int sections",
		"split_with_sizes.default split_sizes",
		"unflatten.int sizes", "view.default size", "reshape.default shape", "expand.default size",
		"as_strided.default size", "trapezoid.x dim", "cumulative_trapezoid.x dim",
		"col2im.default output_size"} {
		if !refused["aten."+arg] {
			t.Errorf("%s: nothing is refused", arg)
		}
	}
}

// changed returns an integer argument with one integer changed.
func changed(a ir.Arg) (out []ir.Arg) {
	switch a := a.(type) {
	case ir.Int:
		for _, d := range []ir.Int{1, -1, 2} {
			out = append(out, a+d)
		}
	case ir.List:
		for i, x := range a {
			if n, ok := x.(ir.Int); ok {
				for _, d := range []ir.Int{1, -1} {
					l := slices.Clone(a)
					l[i] = n + d
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// meaning returns what a call computes as text: the definition that the entry gives.
func meaning(table *ops.Table, n *ir.Node) (string, error) {
	c, err := table.Bind(n)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintln(&text, c.Outs, c.Needs())
	say := func(x any, err error) {
		fmt.Fprintln(&text, x, err)
	}
	if c.Op.View != nil {
		if views, err := c.Op.View(c); err == nil && views != nil {
			for i, v := range views {
				say(v.Map(coordsOf(c.Outs[i])), nil)
			}
		}
	}
	if c.Op.Compute != nil {
		tensors, err := c.Op.Compute(c)
		if err != nil {
			return "", err
		}
		describeTensors(&text, tensors)
	}
	if c.Op.Loops != nil {
		say(c.Op.Loops(c))
	}
	if c.Op.Value != nil && len(c.Scalars()) == 0 {
		say(c.Op.Value(c))
	}
	if c.Op.ScalarOp != nil {
		x, err := c.Op.ScalarOp(c)
		if err != nil {
			return "", err
		}
		describeTensors(&text, []expr.Tensor{{Body: x}})
	}
	if c.Op.Decompose != nil {
		g, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) ([]ir.Arg, error) {
				_, err := ops.NewBuilder(table, e).Decompose(c)
				return nil, err
			})
		if err != nil {
			return "", err
		}
		g.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				fmt.Fprintln(&text, n)
			}
		})
	}
	return text.String(), nil
}

// coordsOf returns the coordinates of an element of a tensor of type t.
func coordsOf(t ir.Type) []sym.Expr {
	at := make([]sym.Expr, len(t.Sizes))
	for d, n := range t.Sizes {
		at[d] = sym.NewVar(fmt.Sprint("i", d), n).Expr()
	}
	return at
}

// describeTensors writes expressions a line for each node, since they share many.
func describeTensors(w *strings.Builder, tensors []expr.Tensor) {
	var bodies []*expr.Expr
	for _, t := range tensors {
		fmt.Fprintln(w, t.DType, bounds(t.Vars))
		bodies = append(bodies, t.Body)
	}
	ids := map[*expr.Expr]int{}
	expr.RewriteAll(bodies, func(e *expr.Expr) *expr.Expr {
		var args []int
		for _, a := range e.Args {
			args = append(args, ids[a])
		}
		ids[e] = len(ids)
		name := ""
		if e.Fn != nil {
			name = e.Fn.Name
		}
		fmt.Fprintln(w, e.Op, e.DType, args, e.Int, e.Float, e.Idx, e.Buf, e.Coords, name, e.Kind,
			bounds(e.Vars))
		return e
	})
}

func bounds(vars []*sym.Symbol) (out []string) {
	for _, v := range vars {
		out = append(out, fmt.Sprint(v.Name, v.Lo, v.Hi))
	}
	return out
}
