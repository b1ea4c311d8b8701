package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// ignored are the integer arguments that entries take without a look, and why.
var ignored = map[string]string{
	"aten.embedding.default padding_idx":                      "it is of the gradient alone",
	"cortex_m.quantized_avg_pool2d.default zero_point":        "a mean keeps it",
	"cortex_m.quantized_avg_pool2d.default multiplier":        "the kernel has no other scale",
	"cortex_m.quantized_avg_pool2d.default shift":             "the kernel has no other scale",
	"cortex_m.quantized_max_pool2d.default input_zero_point":  "a maximum keeps it",
	"cortex_m.quantized_max_pool2d.default output_zero_point": "a maximum keeps it",
	"cortex_m.softmax.default input_zero_point":               "it cancels out",
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
