package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// staysFloat are the operators that are computed with floats in some form, and why. The name of the
// form begins with what is written here.
var staysFloat = []struct {
	form      string
	operators []string
	why       string
}{
	{"int16", []string{"max_pool2d", "amax", "maximum", "minimum", "cat", "pad with a constant",
		"pad by reflection", "pad by copies", "resize to the nearest", "relu", "relu6"},
		"the result has another scale: float32 rounds more than one in 1,000 integers of 16 bits " +
			"to another one"},
	{"int16", []string{"matmul of two variables"}, "fixed point has sums of int32 alone"},
	{"int16", []string{"softmax"}, "a table of exponentials is for 8 bits alone"},
	{"int16", []string{"layer_norm", "rms_norm"},
		"fixed point has roots for results of 8 bits alone"},
	{"dynamic", convolutions, "sums of bytes with scales of the run are those of matrix products; " +
		"convolutions multiply floats by integers"},
	{"dynamic", products, "scales of the run are floats"},
	{"float", slices.Concat(convolutions, products),
		"the activations are floats, which integers multiply"},
	{"", []string{"embedding"}, "rows have scales, or the result is float: a loop dequantizes the " +
		"rows that it is asked for"},
}

var (
	convolutions = []string{"conv1d", "conv2d", "conv2d 1x1", "conv2d dilated", "conv2d in groups",
		"conv2d in strides", "conv3d", "depthwise conv2d", "transposed conv2d"}
	products = []string{"mm", "addmm", "linear"}
)

// Every operator of the quantizers has integers in every form that they write, but for the cells of
// staysFloat: in fixed point no float is computed, elsewhere floats rescale sums of integers. No
// weight is dequantized at run time. Results are the graph's; of integers, one in 1,000 may be a
// step off.
func TestIntegerTable(t *testing.T) {
	table := &integerTable{T: t, used: map[string]bool{}}
	for _, op := range formOperators {
		for _, act := range activationForms {
			w := newForm(act, weightsForm{})
			v, sizes, largest := op.write(w)
			table.cell(op.name, act.name, w.text(v, sizes, largest/126.1))
		}
	}
	for _, l := range formLayers {
		for _, f := range weightForms {
			for _, act := range activationForms {
				w := newForm(act, f)
				x := ""
				if l.name != "embedding" {
					x = w.input(l.x)
				}
				v, sizes, largest := l.of(w, x)
				table.cell(l.name, act.name+"; "+f.name, w.text(v, sizes, largest/126.1))
			}
		}
		for _, f := range weightOnlyForms {
			if f.group > 0 && (l.rest != "" || l.name == "embedding") {
				continue // quantizers make groups of matrices alone
			}
			for _, form := range []string{"float", "dynamic per tensor", "dynamic per token"} {
				if l.name == "embedding" && form != "float" || l.rest != "" &&
					form == "dynamic per token" {
					continue // there are no tokens
				}
				w := newForm(activationForm{}, f)
				x := ""
				if l.name != "embedding" {
					x = w.floatInput(l.x)
				}
				if form != "float" {
					x = w.dynamic(x, l.x, strings.Contains(form, "token"))
				}
				v, _, _ := l.of(w, x)
				table.cell(l.name, form+"; "+f.name, w.floats(v))
			}
		}
	}
	t.Logf("%d cells, %d of them with floats; %d of %d integers are a step off", table.cells,
		len(table.floats), table.off, table.integers)
	if table.off*1000 > table.integers {
		t.Errorf("more than one integer in 1,000 is a step off")
	}
	for _, cell := range table.floats {
		t.Log(cell)
	}
	for _, f := range staysFloat {
		for _, operator := range f.operators {
			if !table.used[operator+f.form] && !testing.Short() {
				t.Errorf("%s, %s: there are no floats", operator, f.form)
			}
		}
	}
}

// newForm returns a program that has no nodes yet.
func newForm(act activationForm, weights weightsForm) *formProgram {
	w := &formProgram{act: act, weights: weights}
	w.Rand = rand.New(rand.NewPCG(1, 2))
	return w
}

// integerTable is what TestIntegerTable has seen.
type integerTable struct {
	*testing.T
	cells         int
	floats        []string
	integers, off int             // results that are integers, and those of them a step off
	used          map[string]bool // operators and forms of staysFloat
}

// cell tries one operator in one form, for every kind of machine.
func (t *integerTable) cell(operator, form, src string) {
	t.Helper()
	t.cells++
	for i, ctx := range []*Context{{Fixed: true}, {}, {Speed: true}} {
		if testing.Short() && t.cells%27 != 9*i {
			continue // each in its turn
		}
		ctx.Table = ops.Standard()
		what := fmt.Sprintf("%s, %s, speed %v, fixed %v", operator, form, ctx.Speed, ctx.Fixed)
		before, err := ir.Parse("m", src)
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, src)
		}
		after, _ := ir.Parse("m", src)
		if err := Backend.Run(ctx, after, nil); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		constant := Constants(after, after.Methods[0])
		for n := range after.Methods[0].Graph.All() {
			// A loop reads the rows of a table that it is asked for, and dequantizes these.
			if x, ok := n.Arg("input").(ir.Ref); ok && constant[x.Value] &&
				strings.HasPrefix(ir.OpBase(n.Op), "dequantize") && operator != "embedding" {
				t.Errorf("%s: weights are dequantized at run time", what)
			}
		}
		t.compare(what, before, after, ctx)
		if ctx.Speed {
			continue // floats may be faster
		}
		floats := slices.DeleteFunc(floatNodes(after), func(op string) bool {
			return !ctx.Fixed && rescaling[op]
		})
		if len(floats) == 0 {
			continue
		}
		known := false
		for _, f := range staysFloat {
			if slices.Contains(f.operators, operator) && strings.HasPrefix(form, f.form) {
				known, t.used[operator+f.form] = true, true
				t.floats = append(t.floats, fmt.Sprintf("%s, %s: %s", operator, form, f.why))
				break
			}
		}
		if !known {
			t.Errorf("%s: floats: %v", what, floats)
		}
		t.floats = slices.Compact(t.floats)
	}
}

// rescaling are operators that make floats of sums, and scale and add these. Those with scales of
// the run choose them.
var rescaling = map[string]bool{"add": true, "sub": true, "mul": true, "_to_copy": true,
	"dequantize_per_tensor": true, "integer_convolution": true, "integer_matmul": true,
	"integer_mul": true, "integer_windows": true, "integer_norm": true, "integer_softmax": true,
	"choose_qparams": true, "choose_qparams_per_token_asymmetric": true}

// floatNodes are the operators of a program that make floats which its results are made of, other
// than those that decide about what lies in the middle of two integers.
func floatNodes(p *ir.Program) (list []string) {
	seen := map[*ir.Node]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		n := v.Def
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if v.Type.DType.IsFloat() {
			list = append(list, ir.OpBase(n.Op))
		}
		for _, a := range n.Args {
			if a.Name != "other" || n.Op != ops.IntegerSpline && n.Arg("near") == nil {
				ir.EachRef(a.Value, visit)
			}
		}
	}
	for _, v := range p.Methods[0].Graph.Outputs {
		ir.EachRef(v, visit)
	}
	return list
}

// compare runs two programs.
func (t *integerTable) compare(what string, before, after *ir.Program, ctx *Context) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var inputs []interp.Value
	for _, v := range before.Methods[0].Graph.Inputs {
		sizes, _ := v.Type.StaticSizes()
		n, _ := v.Type.Numel().Const()
		var raw []byte
		for range n {
			switch v.Type.DType {
			case ir.Float32:
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(r.NormFloat64())))
			case ir.Int64:
				raw = binary.LittleEndian.AppendUint64(raw, uint64(r.IntN(formChannels)))
			case ir.Int16:
				raw = binary.LittleEndian.AppendUint16(raw, uint16(r.Uint32()))
			default:
				raw = append(raw, byte(r.Uint32()))
			}
		}
		inputs = append(inputs, interp.Tensor(v.Type.DType, sizes, raw))
	}
	want := outputsOf(t.T, ctx, before, inputs, nil)[0]
	got := outputsOf(t.T, ctx, after, inputs, nil)[0]
	near, largest := 1.0, 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	if before.Methods[0].Graph.Outputs[0].(ir.Ref).Value.Type.DType.IsFloat() {
		near = 4e-6 * largest
	} else {
		t.integers += len(want)
	}
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= near) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
		if near == 1 && want[i] != got[i] {
			t.off++
		}
	}
	if slices.Min(want) == slices.Max(want) {
		t.Fatalf("%s: all results are the same", what)
	}
}

// A zero point is subtracted before a pool whose integers are read once. Else there would be a
// second pool, for those that read what nothing is subtracted from.
func TestPoolReadTwice(t *testing.T) {
	for _, twice := range []bool{false, true} {
		w := newForm(activationForms[1], weightForms[0])
		at := slices.IndexFunc(formLayers, func(l formLayer) bool { return l.name == "conv2d" })
		layer := formLayers[at]
		pool, _ := w.op(layer.x, "aten.max_pool2d.default(self=%s, kernel_size=[3, 3], stride=[1, 1], "+
			"padding=[1, 1])", w.input(layer.x))
		x := w.rounded(pool, layer.x, 4./127.3)
		v, sizes, largest := layer.of(w, x)
		absolute, _ := w.op(layer.x, "aten.abs.default(self=%s)", x)
		text := w.text(v, sizes, largest/126.1)
		if twice {
			text = strings.Replace(text, "return (%q)", "return (%q, "+absolute+")", 1)
		}
		p, err := ir.Parse("m", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		ctx := &Context{Table: ops.Standard(), Speed: true, Floats: true}
		if err := Backend.Run(ctx, p, nil); err != nil {
			t.Fatal(err)
		}
		pools, behind := 0, false
		for n := range p.Methods[0].Graph.All() {
			if strings.Contains(n.Op, "max_pool2d") {
				pools++
				behind = n.Args[0].Value.(ir.Ref).Value.Def.Op == "aten.sub.Scalar"
			}
		}
		if pools != 1 || behind == twice {
			t.Errorf("read twice: %t: %d pools, behind a subtraction: %t\n%s", twice, pools, behind, p)
		}
	}
}
