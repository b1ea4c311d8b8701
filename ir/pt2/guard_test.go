package pt2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// guarded is a program of inputs x [s0, 4], d["y"] [2*s1] and n with guards.
func guarded(t *testing.T, guards ...string) (*ir.Method, []error) {
	t.Helper()
	size := func(name string, n int) wireSym {
		if n != 0 {
			return wireSym{n: int64(n)}
		}
		return wireSym{expr: name}
	}
	s0 := "Symbol('s0', positive=True, integer=True)"
	s1 := "Mul(Integer(2), Symbol('s1', positive=True, integer=True))"
	tensor := func(sizes ...wireSym) *wireTensor {
		strides := make([]wireSym, len(sizes))
		for i := range strides {
			strides[i] = wireSym{n: 1}
		}
		return &wireTensor{dtype: 7, layout: layoutStrided, sizes: sizes, strides: strides}
	}
	user := func(tag, name string) wireSpec {
		return wireSpec{tag: "user_input", arg: wireArg{tag: tag, name: name}}
	}
	w := &wireProgram{
		graph: wireGraph{
			inputs: []wireArg{{tag: "as_tensor", name: "x"}, {tag: "as_tensor", name: "d_y"},
				{tag: "as_sym_int", name: "n"}},
			outputs: []wireArg{{tag: "as_tensor", name: "x"}},
			tensors: map[string]*wireTensor{"x": tensor(size(s0, 0), size("", 4)),
				"d_y": tensor(size(s1, 0))},
			ints: map[string]wireSym{"n": {expr: "Symbol('s2', integer=True)"}},
		},
		inputs: []wireSpec{user("as_tensor", "x"), user("as_tensor", "d_y"),
			user("as_sym_int", "n")},
		outputs: []wireSpec{{tag: "user_output", arg: wireArg{tag: "as_tensor", name: "x"}}},
		inSpec: `[1, {"type": "builtins.tuple", "context": "null", "children_spec": [
			{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []},
				{"type": "builtins.dict", "context": "[\"y\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]},
			{"type": "builtins.dict", "context": "[\"n\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]}]`,
		ranges: map[string]wireRange{"s0": {2, 20, true, true}, "s1": {1, 8, true, true},
			"s2": {0, 100, true, true}},
		narrowed: map[string]interval{},
		argNames: []string{"x", "d", "n"},
		guards:   guards,
	}
	m, warnings, err := w.method("forward", &weights{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(&ir.Program{Methods: []*ir.Method{m}}); err != nil {
		t.Fatal(err)
	}
	return m, warnings
}

// A guard becomes what it says, in terms of the inputs' symbols; what holds for
// every call becomes nothing, and what a range can say narrows the range.
func TestGuards(t *testing.T) {
	for _, c := range []struct{ guard, nodes, symbols string }{
		{"((3*L['x'].size()[0]) % 2) == 0", "sym_int(s0 % 2) eq(size,0) assert",
			"[2 20] [1 8] [0 100]"},
		{"L['x'].size()[0] >= 2", "", "[2 20] [1 8] [0 100]"},
		{"L['x'].size()[1] == 4", "", "[2 20] [1 8] [0 100]"},
		{"L['x'].shape[-2] > 3 and L['x'].size(0) != 20",
			"sym_int(s0) ge(size,4) assert sym_int(s0) le(size_1,19) assert",
			"[4 19] [1 8] [0 100]"},
		{"(L['d']['y'].size()[0] // 3) == 2",
			"sym_int(s1) ge(size,3) assert sym_int(s1) le(size_1,4) assert",
			"[2 20] [3 4] [0 100]"},
		{"L['d']['y'].size()[0] < L['x'].size()[0]",
			"sym_int(2*s1) sym_int(s0) lt(size,size_1) assert", "[2 20] [1 8] [0 100]"},
		{"not (L['n'] == L['x'].size()[0])",
			"sym_int(s2) sym_int(s0) eq(size,size_1) sym_not(eq) assert", "[2 20] [1 8] [0 100]"},
		{"L['n'] == 7 or L['n'] == 9",
			"sym_int(s2) eq(size,7) sym_int(s2) eq(size_1,9) or_(eq,eq_1) assert",
			"[2 20] [1 8] [0 100]"},
		{"L['n'] == 7 or L['x'].size()[0] >= 1", "", "[2 20] [1 8] [0 100]"},
		{"math.trunc(0.5*torch.sym_float(L['x'].size()[0])) >= 3", "sym_int(s0) ge(size,6) assert",
			"[6 20] [1 8] [0 100]"},
		{"torch.sym_max(L['x'].size()[0], L['n']) < 50", "sym_int(max(s0, s2)) lt(size,50) assert",
			"[2 20] [1 8] [0 100]"},
		{"(L['x'].size()[0] / L['d']['y'].size()[0]) > 1.1",
			"sym_int(s0) sym_int(2*s1) truediv(size,size_1) gt(truediv,1.1) assert",
			"[2 20] [1 8] [0 100]"},
		{"(4 % L['n']) == 0", "sym_int(s2) ne(size,0) assert sym_int(4 % s2) eq(size_1,0) assert",
			"[2 20] [1 8] [0 100]"},
		{"L['flat_args'][2] + L['flat_args'][0].dim() > 5", "sym_int(s2) ge(size,4) assert",
			"[2 20] [1 8] [4 100]"},
		{"2**L['x'].dim() == 4", "", "[2 20] [1 8] [0 100]"},
		{"torch._sym_sqrt(L['n']) < 2.5", "sym_int(s2) sym_sqrt(size) lt(sym_sqrt,2.5) assert",
			"[2 20] [1 8] [0 100]"},
		{"L['x'].size()[0] > 30", "assert", "[2 20] [1 8] [0 100]"},
	} {
		m, warnings := guarded(t, c.guard)
		if len(warnings) > 0 {
			t.Errorf("%s: %v", c.guard, warnings)
		}
		if got := nodesText(m); got != c.nodes {
			t.Errorf("%s:\n%s, want\n%s", c.guard, got, c.nodes)
		}
		var symbols []string
		for _, s := range m.Symbols {
			lo, hi := s.Expr().Bounds()
			symbols = append(symbols, fmt.Sprintf("[%d %d]", lo, hi))
		}
		if got := strings.Join(symbols, " "); got != c.symbols {
			t.Errorf("%s: ranges %s, want %s", c.guard, got, c.symbols)
		}
	}
}

func nodesText(m *ir.Method) string {
	var all []string
	for _, n := range m.Graph.Nodes {
		if n.Op == assertOp {
			all = append(all, "assert")
			continue
		}
		var args []string
		if e := n.Outputs[0].Type; e.HasExpr {
			args = append(args, e.Expr.String())
		}
		for _, a := range n.Args {
			if ref, ok := a.Value.(ir.Ref); ok {
				args = append(args, ref.Value.Name)
			} else {
				args = append(args, fmt.Sprint(a.Value))
			}
		}
		all = append(all, ir.OpBase(n.Op)+"("+strings.Join(args, ",")+")")
	}
	return strings.Join(all, " ")
}

// What cannot be parsed is a warning that quotes it, with what is wrong; the
// other guards are kept.
func TestGuardsNotUnderstood(t *testing.T) {
	for guard, want := range map[string]string{
		"__import__('os').system('x')":              "no input",
		"L['z'].size()[0] == 2":                     "an input that the program does not have",
		"L['x'].size()[7] == 2":                     "a dimension that the input does not have",
		"L['x'].size()[0] ==":                       "unexpected end",
		"L['x'].size()[0] == 2 )":                   `unexpected \")\"`,
		"L['x\x1b[31m'].size()[0] == 2":             `\x1b`,
		"1 < L['n'] < 5":                            "several comparisons in a row",
		"L['n']":                                    "no condition",
		"L['n'] == 7 or 4 % L['n'] == 0":            "divides by what may be 0",
		"L['n'] % 0 == 1":                           "divides by what may be 0",
		"cast_symbool_to_symint_guardless(L['n'])":  "the function",
		"L['x'].device() == 2":                      "not understood",
		"9223372036854775808 > L['n']":              "too large",
		"L['n'] * 9223372036854775807 > L['n'] * 8": "",
		strings.Repeat("(", 5000):                   "nested",
		strings.Repeat("not ", 3) + "(((":           "unexpected end",
	} {
		m, warnings := guarded(t, guard, "L['n'] != 50")
		if want == "" {
			continue // it must only not crash
		}
		if len(warnings) != 1 ||
			!strings.Contains(strings.ReplaceAll(warnings[0].Error(), `\"`, `"`),
				strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("%q: %v, want %s", guard, warnings, want)
		} else if strings.ContainsRune(warnings[0].Error(), 0x1b) {
			t.Errorf("%q: raw bytes in %v", guard, warnings)
		}
		if got := nodesText(m); !strings.HasSuffix(got, ",50) assert") ||
			strings.Count(got, "assert") != 1 {
			t.Errorf("%q: %s", guard, got)
		}
	}
}

// FuzzGuard looks for texts that crash the parser or give a graph that is not
// well formed.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{
		"((3*L['x'].size()[0]) % 2) == 0",
		"L['d']['y'].shape[0] // -2 <= 1.5e3 or not (L['n'] ** 2 < 5)",
		"math.trunc(0.5*torch.sym_float(L['x'].size()[0])) != 1 and torch.sym_min(3, L['n'], 4) > -1",
		"L['flat_args'][1].stride()[0] > 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { guarded(t, text) })
}
