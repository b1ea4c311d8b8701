package ops

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// What fails in a form ends it: whoever calls the form gets the error. Another panic is a
// defect and goes on.
func TestFormsReturnWhatEndsThem(t *testing.T) {
	why := errors.New("why")
	table, err := NewTable([]Op{{
		Schema:    "aten::f(Tensor self) -> Tensor",
		Infer:     func(*Call) ([]ir.Type, error) { return must([]ir.Type(nil), why), nil },
		Compute:   func(*Call) ([]expr.Tensor, error) { check(why); return nil, nil },
		Loops:     func(*Call) (*loop.Func, error) { return must((*loop.Func)(nil), why), nil },
		View:      func(*Call) ([]View, error) { must2(1, 2, why); return nil, nil },
		Value:     func(*Call) (sym.Expr, error) { must3(1, 2, 3, why); return sym.Expr{}, nil },
		ScalarOp:  func(*Call) (*expr.Expr, error) { panic("a defect") },
		Decompose: func(*Builder, *Call) ([]*ir.Value, error) { check(why); return nil, nil },
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
