package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// Suite makes test cases of a case's calls of a method, "" being the first, of the ExecuTorch
// program at path: as expected the outputs that they have, or if they have none what w gives. A
// runner begins each test case in the first state, which only the first call of a stateful case
// does.
func Suite(ctx context.Context, w way.Way, path, method string,
	kase *testcase.Case) (_ *pte.TestSuite, err error) {
	defer must.Catch(&err)
	p, closer := must.Get2(pte.Open(path))
	defer closer.Close()
	at := must.Get(methodOf(path, method))
	plan := p.Plans[at]
	s := &pte.TestSuite{Method: plan.Name}
	for i, c := range kase.Calls {
		if c.Refused != "" || kase.Stateful && i > 0 ||
			len(kase.Methods) > 0 && kase.Methods[c.Method] != plan.Name {
			continue
		}
		outputs := c.Outputs
		if outputs == nil {
			outputs = must.Get(RunMethod(ctx, w, path, method, c.Inputs)).Outputs
		}
		test := func(what string, list []tensor.Value, of []int32) (values []pte.TestValue) {
			if len(list) != len(of) {
				must.Check(inputError("test case %d has %d %s, the method %d", i, len(list), what, len(of)))
			}
			for k, v := range list {
				t, _ := plan.Values[of[k]].(*pte.Tensor)
				x, err := testValue(v, t)
				if err != nil {
					must.Check(inputError("test case %d: %s %d: %w", i, what, k, err))
				}
				values = append(values, x)
			}
			return values
		}
		s.Cases = append(s.Cases, pte.TestCase{Inputs: test("inputs", c.Inputs, plan.Inputs),
			Outputs: test("outputs", outputs, plan.Outputs)})
	}
	if len(s.Cases) == 0 {
		what := "call"
		if kase.Stateful {
			what = "first call"
		}
		must.Check(inputError("the case has no %s of method %s that is not refused", what,
			foreign.Message(plan.Name)))
	}
	return s, nil
}

// testValue is a value as a bundle has it, with the order of dimensions of the program's tensor.
func testValue(v tensor.Value, like *pte.Tensor) (pte.TestValue, error) {
	if v.Tensor == nil {
		switch x := v.Scalar.(type) {
		case ir.Int:
			return pte.Int(x), nil
		case ir.BoolArg:
			return pte.Bool(x), nil
		case ir.Float:
			return pte.Double(x), nil
		}
		return nil, fmt.Errorf("a bundle has no %v", v.Scalar)
	}
	t := v.Tensor
	kind, ok := pte.ScalarTypeOf(t.DType)
	if !ok || like == nil || like.ScalarType != kind || len(like.Sizes) != len(t.Shape) {
		return nil, fmt.Errorf("it is %v, which is not what the program has", t)
	}
	x := &pte.TestTensor{ScalarType: kind, DimOrder: like.DimOrder, Data: ir.Bytes(t.Data)}
	for _, n := range t.Shape {
		x.Sizes = append(x.Sizes, int32(n))
	}
	if !slices.IsSorted(like.DimOrder) {
		x.Data = ir.Bytes(ordered(t, like.DimOrder))
	}
	return x, nil
}

// ordered returns the elements of t with the dimensions in an order, the outermost first.
func ordered(t *tensor.Tensor, order []uint8) []byte {
	size := int64(t.DType.Size())
	strides, stride := make([]int64, len(t.Shape)), size
	for d := len(t.Shape) - 1; d >= 0; d-- {
		strides[d] = stride
		stride *= t.Shape[d]
	}
	out := make([]byte, 0, len(t.Data))
	var walk func(k int, at int64)
	walk = func(k int, at int64) {
		if k == len(order) {
			out = append(out, t.Data[at:at+size]...)
			return
		}
		for i := range t.Shape[order[k]] {
			walk(k+1, at+i*strides[order[k]])
		}
	}
	walk(0, 0)
	return out
}
