package interp

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// recorded is a call of a cortex_m operator with the result that CMSIS-NN's
// plain C code gave. golden/tools/cmsis_nn makes them.
type recorded struct {
	where string // file and line
	node  *ir.Node
	data  map[*ir.Value][]byte
	want  Value
}

// Every operator gives the recorded results to the bit, straight from its
// meaning and by way of loops.
func TestCortexMIsCMSISNN(t *testing.T) {
	files, err := filepath.Glob("testdata/cortex_m/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded calls", err)
	}
	table := ops.Standard()
	seen := map[string]int{}
	for _, file := range files {
		for _, r := range readRecorded(t, file) {
			seen[r.node.Op]++
			for _, naive := range []bool{false, true} {
				if naive && r.slow() {
					continue
				}
				if err := r.run(table, naive); err != nil {
					t.Errorf("%s: %s, naive %t: %v", r.where, r.node.Op, naive, err)
				}
			}
		}
	}
	// A table of 256 values needs no record of CMSIS-NN's.
	for _, name := range table.Names() {
		if strings.HasPrefix(name, "cortex_m.") &&
			name != "cortex_m.quantized_activation.default" && seen[name] < 3 {
			t.Errorf("%s: %d recorded calls", name, seen[name])
		}
	}
	t.Log(seen)
}

// slow says that the call is a softmax of long rows, which takes minutes straight
// from its meaning: the sum of a row is computed anew for each element.
func (r *recorded) slow() bool {
	return r.node.Op == "cortex_m.softmax.default" && r.want.Tensor.Sizes[1] > 4
}

func (r *recorded) run(table *ops.Table, naive bool) error {
	c, err := table.Bind(r.node)
	if err != nil {
		return err
	}
	m := New(table)
	if naive {
		m.Meaning = reference.Tensor
	}
	for v, data := range r.data {
		sizes, _ := v.Type.StaticSizes()
		m.Set(v, Tensor(v.Type.DType, sizes, data))
	}
	r.node.Outputs = []*ir.Value{{Name: "y", Type: c.Outs[0]}}
	if err := m.Node(r.node); err != nil {
		return err
	}
	y, err := m.Get(r.node.Outputs[0])
	if err != nil {
		return err
	}
	got, want := y.Tensor, r.want.Tensor
	if got.DType != want.DType || fmt.Sprint(got.Sizes) != fmt.Sprint(want.Sizes) {
		return fmt.Errorf("%s%v, want %s%v", got.DType, got.Sizes, want.DType, want.Sizes)
	}
	if !bytes.Equal(got.Data, want.Data) {
		n, at := 0, -1
		for i := range got.Data {
			if got.Data[i] != want.Data[i] {
				if n++; at < 0 {
					at = i
				}
			}
		}
		return fmt.Errorf("%d of %d bytes differ; byte %d is %d, want %d", n, len(got.Data), at,
			int8(got.Data[at]), int8(want.Data[at]))
	}
	return nil
}

// readRecorded reads a file of recorded calls: a line "op NAME", one for each
// argument, and "= RESULT".
func readRecorded(t *testing.T, file string) []*recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*recorded
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, value, _ := strings.Cut(line, " ")
		if name == "op" {
			all = append(all, &recorded{where: fmt.Sprintf("%s:%d", filepath.Base(file), i+1),
				data: map[*ir.Value][]byte{}, node: &ir.Node{Name: "y", Op: "cortex_m." + value +
					".default"}})
			continue
		}
		r := all[len(all)-1]
		arg, data, err := parseRecorded(value)
		switch ref, isTensor := arg.(ir.Ref); {
		case err != nil:
			t.Fatalf("%s:%d: %v", file, i+1, err)
		case name == "=":
			sizes, _ := ref.Value.Type.StaticSizes()
			r.want = Tensor(ref.Value.Type.DType, sizes, data)
			continue
		case isTensor:
			ref.Value.Name = name
			r.data[ref.Value] = data
		}
		r.node.Args = append(r.node.Args, ir.NamedArg{Name: name, Value: arg})
	}
	return all
}

// parseRecorded reads "i8[2,3] HEX", "i8[1,2,3,4] HEX channels_last", "[1,2]",
// "none", a bool, a dtype or a number.
func parseRecorded(s string) (ir.Arg, []byte, error) {
	if s == "none" {
		return ir.None{}, nil, nil
	}
	if s == "true" || s == "false" {
		return ir.BoolArg(s == "true"), nil, nil
	}
	head, rest, isTensor := strings.Cut(s, "] ")
	if isTensor {
		dtype, dims, _ := strings.Cut(head, "[")
		d, ok := ir.ParseDType(dtype)
		if !ok {
			return nil, nil, fmt.Errorf("dtype %q", dtype)
		}
		var sizes []int64
		for _, f := range strings.Split(dims, ",") {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil, nil, err
			}
			sizes = append(sizes, n)
		}
		v := &ir.Value{Type: ir.StaticTensor(d, sizes...)}
		digits, last := strings.CutSuffix(rest, " channels_last")
		if last {
			s := v.Type.Sizes
			v.Type.Strides = []sym.Expr{sym.Mul(s[1], s[2], s[3]), sym.Int(1),
				sym.Mul(s[1], s[3]), s[1]}
		}
		data, err := hex.DecodeString(digits)
		return ir.Ref{Value: v}, data, err
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		list := ir.List{}
		for _, f := range strings.Split(strings.TrimSuffix(inner, "]"), ",") {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, ir.Int(n))
		}
		return list, nil, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ir.Int(n), nil, nil
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return ir.Float(x), nil, nil
	}
	if d, ok := ir.ParseDType(s); ok {
		return ir.DTypeArg(d), nil, nil
	}
	return nil, nil, fmt.Errorf("%q is no argument", s)
}
