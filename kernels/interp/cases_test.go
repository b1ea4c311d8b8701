package interp

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// maxWork bounds the multiply-adds of a case, since this package is slow.
const maxWork = 5e5

type caseMeta struct {
	Inputs, Outputs []ioMeta
	Diff            float64 `json:"exported_vs_eager_max_abs_diff"`
	Macs            float64
}

type ioMeta struct {
	Kind, DType, File string
	Shape             []int64
	Value             any
}

// TestCases runs the recorded cases all of whose operators are in the table
// and compares with what PyTorch computed.
func TestCases(t *testing.T) {
	tier.Needs(t, tier.Normal)
	root := "../../../shared"
	if _, err := os.Stat(root); err != nil {
		t.Skip("the recorded cases are not beside the repository: ", err)
	}
	var passed, missing, inPlace, big, unknown int
	faults := map[string][]string{}
	for _, dir := range []string{"ops", "ops-rare", "models", "models-torch2.6"} {
		filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry,
			err error) error {
			if err != nil || !strings.HasSuffix(path, ".pt2") {
				return err
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if info.Size() > 4<<20 {
				big++
				return nil
			}
			switch why := runCase(path); {
			case why == "":
				passed++
			case why == "in place":
				inPlace++
			case why == "big":
				big++
			case strings.HasPrefix(why, "missing "):
				missing++
			case strings.Contains(why, ErrUnknownSize.Error()):
				unknown++
			default:
				name := strings.Split(strings.TrimPrefix(path, root+"/"), "/")[1]
				faults[name] = append(faults[name], strings.TrimPrefix(path, root+"/")+": "+why)
			}
			return nil
		})
	}
	t.Logf("%d cases pass; not run: %d with operators that are not in the table, "+
		"%d with in-place operators, %d with sizes that data decides, %d too big",
		passed, missing, inPlace, unknown, big)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		n += len(faults[name])
		t.Errorf("%s", faults[name][0])
	}
	if n > 0 {
		t.Errorf("%d cases fail", n)
	}
	if passed < 1300 {
		t.Errorf("only %d cases pass", passed)
	}
}

func runCase(path string) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("panic: %v", r)
		}
	}()
	p, closer, err := pt2.Read(path)
	if err != nil {
		return err.Error()
	}
	defer closer.Close()
	m := p.Methods[0]
	table := ops.Standard()
	for _, o := range m.Outputs {
		if o.Kind != ir.UserOutput {
			return "in place"
		}
	}
	reason := ""
	var eigenvectors *ir.Value // their signs are LAPACK's in the case, and follow no rule
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if slices.ContainsFunc(n.Outputs, func(v *ir.Value) bool {
				return v != nil && v.Type.DType.IsComplex()
			}) { // said in real numbers by a pass
				reason = "missing complex numbers"
			}
			if n.Op == "aten._linalg_eigh.default" {
				eigenvectors = n.Output(1)
			}
			if strings.HasSuffix(n.Op, "wrap_with_autocast") { // lowered by a pass
				reason = "missing " + n.Op
			}
			if len(n.Regions) > 0 {
				continue
			}
			op, ok := table.Lookup(n.Op)
			switch {
			case !ok:
				reason = "missing " + n.Op
			case op.Name() != n.Op && reason == "":
				reason = "in place"
			}
		}
	})
	if reason != "" {
		return reason
	}
	dir := filepath.Dir(path)
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return err.Error()
	}
	var meta caseMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return err.Error()
	}
	if meta.Macs > maxWork {
		return "big"
	}
	interpreter := New(table)
	outs, err := interpreter.method(m, dir, meta.Inputs)
	if err != nil {
		return err.Error()
	}
	if len(outs) != len(meta.Outputs) {
		return fmt.Sprintf("%d outputs, want %d", len(outs), len(meta.Outputs))
	}
	for i, o := range meta.Outputs {
		if o.Kind != "tensor" {
			continue
		}
		want, err := os.ReadFile(filepath.Join(dir, o.File))
		if err != nil {
			return err.Error()
		}
		d, _ := ir.ParseDType(o.DType)
		if outs[i].Kind != ir.TensorKind || outs[i].Tensor.DType != d ||
			!slices.Equal(outs[i].Tensor.Sizes, o.Shape) {
			return fmt.Sprintf("output %d is %v %v, want %v %v", i, outs[i].Tensor.DType,
				outs[i].Tensor.Sizes, d, o.Shape)
		}
		if ref, ok := m.Graph.Outputs[i].(ir.Ref); ok && ref.Value == eigenvectors {
			signed(d, want, o.Shape)
		}
		if msg := differ(d, outs[i].Tensor.Data, want, meta.Diff, interpreter.longest); msg != "" {
			return fmt.Sprintf("output %d %s", i, msg)
		}
	}
	return ""
}

// signed gives each column of matrices the sign with which its largest element is positive.
func signed(d ir.DType, data []byte, shape []int64) {
	n := shape[len(shape)-1]
	for at := int64(0); at < int64(len(data)/d.Size()); at += n * n {
		for column := at; column < at+n; column++ {
			largest := 0.0
			for i := column; i < at+n*n; i += n {
				if x := eval.Get(d, data, i).F; math.Abs(x) > math.Abs(largest) {
					largest = x
				}
			}
			for i := column; i < at+n*n && largest < 0; i += n {
				eval.Put(d, data, i, eval.Value{F: -eval.Get(d, data, i).F})
			}
		}
	}
}

func (interpreter *Interpreter) method(m *ir.Method, dir string, inputs []ioMeta) ([]Value, error) {
	var args []Value
	next := 0
	for i, v := range m.Graph.Inputs {
		switch spec := m.Inputs[i]; spec.Kind {
		case ir.UserInput:
			for next < len(inputs) && inputs[next].Kind == "none" {
				next++
			}
			x, err := readInput(dir, inputs[next])
			if err != nil {
				return nil, err
			}
			args = append(args, x)
			next++
		case ir.ConstantInput:
			x, err := interpreter.Arg(spec.Fixed)
			if err != nil {
				return nil, err
			}
			args = append(args, x)
			next++
		default:
			x, err := interpreter.Get(v)
			if err != nil {
				return nil, err
			}
			args = append(args, x)
		}
	}
	return interpreter.Graph(m.Graph, args)
}

func readInput(dir string, in ioMeta) (Value, error) {
	f, _ := in.Value.(float64)
	switch in.Kind {
	case "int":
		return Value{Kind: ir.IntKind, Scalar: expr.Value{I: int64(f)}}, nil
	case "float":
		return Value{Kind: ir.FloatKind, Scalar: expr.Value{F: f}}, nil
	case "tensor":
		d, ok := ir.ParseDType(in.DType)
		if !ok {
			return Value{}, fmt.Errorf("dtype %s", in.DType)
		}
		data, err := os.ReadFile(filepath.Join(dir, in.File))
		return Tensor(d, in.Shape, data), err
	}
	return Value{}, fmt.Errorf("input of kind %s", in.Kind)
}

var tolerance = map[ir.DType][3]float64{ // atol, rtol, eps
	ir.Float32:  {1e-5, 1.3e-6, 0x1p-23},
	ir.Float64:  {1e-7, 1e-7, 0x1p-52},
	ir.Float16:  {1e-5, 1e-3, 0x1p-10},
	ir.BFloat16: {1e-5, 1.6e-2, 0x1p-7},
}

// differ compares as golden/compare does; longest is that of the reductions.
func differ(d ir.DType, got, want []byte, diff float64, longest int64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("has %d bytes, want %d", len(got), len(want))
	}
	tol, isFloat := tolerance[d]
	n := int64(len(got) / max(d.Size(), 1))
	top := 0.0
	for i := range n {
		if f := math.Abs(eval.Get(d, want, i).F); f > top && !math.IsInf(f, 0) {
			top = f
		}
	}
	for i := range n {
		g, w := eval.Get(d, got, i), eval.Get(d, want, i)
		switch {
		case !isFloat:
			if g.I != w.I {
				return fmt.Sprintf("element %d is %d, want %d", i, g.I, w.I)
			}
		case g.F == w.F || g.F != g.F && w.F != w.F:
		case !(math.Abs(g.F-w.F) <= tol[0]+tol[1]*math.Abs(w.F)+4*tol[2]*math.Sqrt(
			float64(max(longest, 1)))*top+4*diff):
			return fmt.Sprintf("element %d is %v, want %v", i, g.F, w.F)
		}
	}
	return ""
}
