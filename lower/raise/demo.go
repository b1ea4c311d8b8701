package raise

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise/xnn"
)

// The ids of the backends that ExecuTorch has as demonstrations.
const (
	compilerDemo = "BackendWithCompilerDemo"
	mappingDemo  = "BackendWithDelegateMappingDemo"
)

// maxDemo bounds the payloads of demonstrations, which are texts.
const maxDemo = 1 << 16

// demoOps are the sequences of operators whose payloads of the compiler demo say what they do,
// with what they make of their arguments. A payload has names only: which arguments operators
// work on is known where there is one way, as in the demo's runtime. At gives what emits the
// operator of an index.
var demoOps = map[string]struct {
	args int
	emit func(at func(op int) *ops.Builder, args []*ir.Value) *ir.Value
}{
	"aten.sin.default": {1, func(at func(int) *ops.Builder, x []*ir.Value) *ir.Value {
		return at(0).Op("aten.sin.default", x[0])
	}},
	"aten.add.Tensor": {2, func(at func(int) *ops.Builder, x []*ir.Value) *ir.Value {
		return at(0).Op("aten.add.Tensor", x[0], x[1])
	}},
	"aten.mm.default aten.add.Tensor": {3, func(at func(int) *ops.Builder, x []*ir.Value) *ir.Value {
		y := at(0).Op("aten.mm.default", x[0], x[1])
		return at(1).Op("aten.add.Tensor", y, x[2])
	}},
}

// demo is a payload of the compiler demo: its operators with their debug handles, and how many
// elements the result has.
type demo struct {
	ops     string
	handles []uint32
	numel   int64
}

// openDemo reads "NversionV#" and then N times
// "op:demo::OPERATOR, numel:K, dtype:torch.float32<debug_handle>H#".
func openDemo(d *pte.Delegate, _ func(string) (ir.Blob, bool)) (lowered, error) {
	text, err := textOf(d.Processed)
	if err != nil {
		return nil, err
	}
	for _, s := range d.Specs[:min(len(d.Specs), 1)] {
		limit := int64(0)
		for i, b := range s.Value[:min(len(s.Value), 4)] {
			limit |= int64(b) << (8 * i)
		}
		if limit = int64(int32(limit)); limit > 4 {
			return nil, fmt.Errorf("its compile spec %s is %d, more than 4", foreign.Message(s.Key),
				limit)
		}
	}
	parts := strings.Split(text, "#")
	count, version, ok := strings.Cut(parts[0], "version:")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || version != "0" || n != len(parts)-2 || parts[len(parts)-1] != "" {
		return nil, fmt.Errorf("its payload is no list of operators: %s", foreign.Message(text))
	}
	out := &demo{}
	var names []string
	for _, p := range parts[1 : len(parts)-1] {
		var name string
		fields := strings.Split(strings.ReplaceAll(p, "<debug_handle>", ", debug_handle:"), ", ")
		known := len(fields) == 4 && strings.HasPrefix(fields[0], "op:demo::") &&
			strings.HasPrefix(fields[1], "numel:") && fields[2] == "dtype:torch.float32"
		if known {
			name = strings.TrimPrefix(fields[0], "op:demo::")
			out.numel, err = strconv.ParseInt(strings.TrimPrefix(fields[1], "numel:"), 10, 64)
		}
		if !known || err != nil || out.numel < 0 {
			return nil, fmt.Errorf("its payload has no operator in %s", foreign.Message(p))
		}
		names = append(names, name)
		handle, _ := strconv.ParseUint(strings.TrimPrefix(fields[3], "debug_handle:"), 10, 31)
		out.handles = append(out.handles, uint32(handle)) // 0: there is none
	}
	out.ops = strings.Join(names, " ")
	if _, ok := demoOps[out.ops]; !ok {
		return nil, untold("its payload does not say what its operators, %s, work on",
			foreign.Message(out.ops))
	}
	return out, nil
}

// untold says what a payload does not tell, and that nothing but its backend can.
func untold(format string, args ...any) error {
	return &unreadable{fmt.Sprintf(format, args...) + "; that is nowhere in the file, so nothing " +
		"computes its results from the file alone, but a backend of yours that knows it can"}
}

func textOf(b ir.Blob) (string, error) {
	if b.Size() > maxDemo {
		return "", fmt.Errorf("a payload of %d bytes", b.Size())
	}
	data := make([]byte, b.Size())
	if n, err := b.ReadAt(data, 0); n < len(data) {
		return "", err
	}
	return string(data), nil
}

// Outputs implements lowered.
func (d *demo) Outputs(n int) ([]bool, error) {
	if want := demoOps[d.ops].args + 1; n != want {
		return nil, untold("a call has %d arguments, and %s takes %d: its payload does not say which",
			n, foreign.Message(d.ops), want)
	}
	written := make([]bool, n)
	written[n-1] = true
	return written, nil
}

// Raise implements lowered.
func (d *demo) Raise(into *xnn.Into, args []*ir.Value) (outs []*ir.Value, err error) {
	outs = make([]*ir.Value, len(args))
	err = must.Try(func() {
		for i, x := range args[:len(args)-1] {
			if x.Type.DType != ir.Float32 {
				must.Fail("argument %d is %v", i, x.Type)
			}
		}
		y := demoOps[d.ops].emit(func(op int) *ops.Builder {
			into.At(d.handles[op])
			return into.Builder
		}, args)
		if n, ok := y.Type.Numel().Const(); ok && n != d.numel {
			must.Fail("its result is %v, its payload says %d elements", y.Type, d.numel)
		}
		outs[len(args)-1] = y
	})
	return outs, err
}

// openMapping reads "N#" and then N times "NAME,ID,": names for a profiler, and nothing of what
// is computed.
func openMapping(d *pte.Delegate, _ func(string) (ir.Blob, bool)) (lowered, error) {
	text, err := textOf(d.Processed)
	if err != nil {
		return nil, err
	}
	count, list, ok := strings.Cut(text, "#")
	n, err := strconv.Atoi(count)
	items := strings.Split(list, ",")
	if !ok || err != nil || n < 0 || n > math.MaxInt16 || len(items) != 2*n+1 {
		return nil, fmt.Errorf("its payload is no list of names: %s", foreign.Message(text))
	}
	return nil, untold("its payload has names for a profiler, and neither operands nor weights: %s",
		foreign.Message(list))
}

// executor is the id of the backend whose payload is a whole program.
const executor = "ExecutorBackend"

// nested is such a payload: its first method.
type nested struct {
	method *ir.Method
	ins    int
}

// openNested reads and raises the program.
func openNested(d *pte.Delegate, _ func(string) (ir.Blob, bool)) (lowered, error) {
	p, err := pte.Read(io.NewSectionReader(d.Processed, 0, d.Processed.Size()), d.Processed.Size())
	if err != nil {
		return nil, err
	}
	if len(p.Plans) == 0 {
		return nil, fmt.Errorf("its program has no methods")
	}
	p.Plans = p.Plans[:1]
	out, err := Program(p, "its program", ops.Standard())
	if err != nil {
		return nil, err
	}
	m := out.Methods[0]
	switch {
	case len(m.Symbols) > 0:
		return nil, fmt.Errorf("sizes in its program vary")
	case len(out.Delegates) > 0:
		return nil, fmt.Errorf("its program has delegates of backends that etgen does not know")
	}
	for _, in := range m.Inputs {
		if in.Kind != ir.UserInput {
			return nil, fmt.Errorf("its program has %v as an input", in.Kind)
		}
	}
	for _, o := range m.Outputs {
		if o.Kind != ir.UserOutput {
			return nil, fmt.Errorf("its program writes to %s", foreign.Message(o.Target))
		}
	}
	for n := range m.Graph.All() {
		if len(n.Regions) > 0 {
			return nil, fmt.Errorf("its program has control flow, %s", n.Op)
		}
	}
	return &nested{m, len(m.Inputs)}, nil
}

// Outputs implements lowered.
func (n *nested) Outputs(args int) ([]bool, error) {
	if args != n.ins+len(n.method.Outputs) {
		return nil, fmt.Errorf("a call has %d arguments, its program %d inputs and %d outputs", args,
			n.ins, len(n.method.Outputs))
	}
	written := make([]bool, args)
	for i := n.ins; i < args; i++ {
		written[i] = true
	}
	return written, nil
}

// Raise implements lowered.
func (n *nested) Raise(into *xnn.Into, args []*ir.Value) (outs []*ir.Value, err error) {
	outs = make([]*ir.Value, len(args))
	err = must.Try(func() {
		known := map[*ir.Value]*ir.Value{}
		g := n.method.Graph
		for i, v := range g.Inputs {
			if x := args[i]; x.Type.DType != v.Type.DType || !sameSizes(x.Type, v.Type) {
				must.Fail("argument %d is %v, input %d of its program %v", i, x.Type, i, v.Type)
			}
			known[v] = args[i]
		}
		for _, v := range g.Constants {
			c := *v.Const
			c.Name = "" // another program's
			known[v] = into.Constant(&c)
		}
		mapped := func(v *ir.Value) ir.Arg { return ir.Ref{Value: known[v]} }
		for _, node := range g.Nodes {
			list := seq.Map(node.Args, func(a ir.NamedArg) ir.NamedArg {
				return ir.NamedArg{Name: a.Name, Value: ir.MapRefs(a.Value, mapped)}
			})
			var types []ir.Type
			for _, v := range node.Outputs {
				if v != nil {
					types = append(types, v.Type)
				}
			}
			made := into.Emit(node.Op, list, types...).Outputs
			for _, v := range node.Outputs {
				if v != nil {
					known[v], made = made[0], made[1:]
				}
			}
		}
		for i, o := range g.Outputs {
			ref, ok := o.(ir.Ref)
			if !ok || ref.Value.Type.Kind != ir.TensorKind {
				must.Fail("output %d of its program is no tensor", i)
			}
			outs[n.ins+i] = known[ref.Value]
		}
	})
	return outs, err
}

func sameSizes(a, b ir.Type) bool {
	if len(a.Sizes) != len(b.Sizes) {
		return false
	}
	for i := range a.Sizes {
		if !a.Sizes[i].Equal(b.Sizes[i]) {
			return false
		}
	}
	return true
}
