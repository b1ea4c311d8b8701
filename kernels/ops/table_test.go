package ops

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// TestStandard builds the table.
func TestStandard(t *testing.T) {
	if _, err := newTable(append(groups(), onceMore(groups()))...); err != nil {
		t.Fatal(err)
	}
}

// TestSynonyms holds that what has another name is in the table.
func TestSynonyms(t *testing.T) {
	left := maps.Clone(synonyms)
	for _, name := range Standard().Names() {
		delete(left, strings.Split(name, ".")[1])
	}
	if len(left) > 0 {
		t.Errorf("no operators: %v", left)
	}
}

// TestSchemasArePyTorchs compares every entry's schema with PyTorch's.
func TestSchemasArePyTorchs(t *testing.T) {
	data, err := os.ReadFile("../../../shared/reference/aten_schemas_2.14.txt")
	if err != nil {
		t.Skip("../shared/reference is not here: ", err)
	}
	theirs := map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		if s, err := aten.Parse(line); err == nil {
			theirs[s.Name] = s.String()
		}
	}
	table := Standard()
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		switch want, ok := theirs[name]; {
		case !ok && (strings.HasPrefix(name, "aten.") || strings.HasPrefix(name, "prims.")):
			t.Errorf("%s: PyTorch has no such operator", name)
		case ok && op.ParsedSchema().String() != want:
			t.Errorf("%s:\n  ours %s\ntheirs %s", name, op.ParsedSchema(), want)
		}
	}
}

func TestFunctional(t *testing.T) {
	table := Standard()
	for name, want := range map[string]string{
		"aten.add_.Tensor": "aten.add.Tensor", "aten.relu_.default": "aten.relu.default",
		"aten.copy_.default":   "aten.copy.default",
		"aten.__iand__.Tensor": "aten.__and__.Tensor",
		"aten.detach_.default": "aten.detach.default",
		"aten.add.Tensor":      "", "aten.nothing_.default": "", "aten.__and__.Tensor": "",
		"add_": "", "": "",
	} {
		got, ok := table.Functional(name)
		if ok != (want != "") || got.Name != want {
			t.Errorf("Functional(%q) = %v, %v, want %q", name, got, ok, want)
		}
		if want != "" {
			if op, ok := table.Lookup(name); !ok || op.Name() != want {
				t.Errorf("Lookup(%q) = %v, %v", name, op, ok)
			}
		}
	}
}

func TestNewTableErrors(t *testing.T) {
	ok := unary("aten::f(Tensor self) -> Tensor", same, nil)
	noInfer, noMeaning := ok, ok
	noInfer.Infer, noMeaning.Compute = nil, nil
	for name, ops := range map[string][]entry{
		"twice": {ok, ok}, "schema": {{Schema: "nonsense"}}, "infer": {noInfer},
		"meaning": {noMeaning},
	} {
		if _, err := newTable(ops); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBindErrors(t *testing.T) {
	x := &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 2, 3)}
	y := &ir.Value{Name: "y", Type: ir.StaticTensor(ir.Float32, 4, 3)}
	s := &ir.Value{Name: "s", Type: ir.Type{Kind: ir.StringKind}}
	ref := func(v *ir.Value) ir.Arg { return ir.Ref{Value: v} }
	for _, tt := range []struct {
		op   string
		args []ir.NamedArg
		want string
	}{
		{"aten.nothing.default", nil, "not supported"},
		{"aten.add.Tensor", []ir.NamedArg{{Value: ref(x)}}, "other is missing"},
		{"aten.add.Tensor", []ir.NamedArg{{Value: ref(x)}, {Value: ref(y)}},
			"[2, 3] and [4, 3] do not broadcast"},
		{"aten.add.Tensor", []ir.NamedArg{{Value: ref(x)}, {Value: ref(s)}},
			"a string is no Tensor"},
		{"aten.add.Tensor", []ir.NamedArg{{Value: ref(x)}, {Name: "self", Value: ref(x)}},
			"given twice"},
		{"aten.add.Tensor", []ir.NamedArg{{Name: "foo", Value: ref(x)}}, `called "foo"`},
		{"aten.relu.default", []ir.NamedArg{{Value: ref(x)}, {Value: ref(x)}}, "more than 1"},
		{"aten.sum.dim_IntList", []ir.NamedArg{{Value: ref(x)}, {Value: ir.List{ir.Int(2)}}},
			"dimension 2"},
		{"aten.sum.dim_IntList", []ir.NamedArg{{Value: ref(x)},
			{Value: ir.List{ir.Int(1), ir.Int(-1)}}}, "twice"},
		{"aten.sum.dim_IntList", []ir.NamedArg{{Value: ref(x)}, {Value: ir.Str("a")}},
			"is no int[1]"},
		{"aten.neg.default", []ir.NamedArg{{Value: ir.None{}}}, "a None is no Tensor"},
	} {
		_, err := Standard().Bind(&ir.Node{Op: tt.op, Args: tt.args})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.op, err, tt.want)
		}
	}
}

func TestBindDefaults(t *testing.T) {
	x := &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 2, 3)}
	c, err := Standard().Bind(&ir.Node{Op: "aten.add.Tensor",
		Args: []ir.NamedArg{{Value: ir.Ref{Value: x}}, {Name: "other", Value: ir.Int(2)}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Arg("alpha") != ir.Int(1) || len(c.Operands()) != 1 || c.Operand("other") != -1 ||
		!c.Outs[0].Equal(x.Type) {
		t.Errorf("got %+v", c)
	}
}

// What fails in a form ends it: whoever calls the form gets the error. Another panic is a
// defect and goes on.
func TestFormsReturnWhatEndsThem(t *testing.T) {
	why := errors.New("why")
	table, err := newTable([]entry{{
		Schema:    "aten::f(Tensor self) -> Tensor",
		Infer:     func(*Call) []ir.Type { return must([]ir.Type(nil), why) },
		Compute:   func(*Call) []expr.Tensor { check(why); return nil },
		Loops:     func(*Call) *loop.Func { return must((*loop.Func)(nil), why) },
		View:      func(*Call) []View { must2(1, 2, why); return nil },
		Value:     func(*Call) sym.Expr { return must(sym.Expr{}, why) },
		ScalarOp:  func(*Call) *expr.Expr { panic("a defect") },
		Decompose: func(*Builder, *Call) []*ir.Value { check(why); return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	op, _ := table.Lookup("aten.f.default")
	c := &Call{Op: op}
	_, infer := op.Infer(c)
	_, compute := op.Compute(c)
	_, loops := op.Loops(c)
	_, view := op.View(c)
	_, value := op.Value(c)
	_, decompose := NewBuilder(table, nil).Decompose(c)
	for i, err := range []error{infer, compute, loops, view, value, decompose} {
		if !errors.Is(err, why) {
			t.Errorf("form %d: error %v", i, err)
		}
	}
	defer func() {
		if r := recover(); r != "a defect" {
			t.Errorf("a defect ends as %v", r)
		}
	}()
	_, _ = op.ScalarOp(c)
}
