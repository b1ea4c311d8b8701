package aten

import (
	"slices"
	"testing"
)

func TestEarlier(t *testing.T) {
	s, err := Parse("cortex_m::pool(Tensor input, int[] kernel, bool ceil=False, int zero, " +
		"float scale, Tensor? scratch=None) -> Tensor")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []ArgKind
		want []int // nil: they do not fit
	}{
		{[]ArgKind{TensorArg, ListArg, BoolArg, IntArg, FloatArg, TensorArg},
			[]int{0, 1, 2, 3, 4, 5}},
		{[]ArgKind{TensorArg, ListArg, BoolArg, IntArg, IntArg, NoArg}, []int{0, 1, 2, 3, 4, 5}},
		{[]ArgKind{TensorArg, ListArg, IntArg, FloatArg, TensorArg}, []int{0, 1, 3, 4, 5}},
		{[]ArgKind{TensorArg, ListArg, IntArg, FloatArg}, []int{0, 1, 3, 4}},
		{[]ArgKind{TensorArg, IntArg, FloatArg}, nil},
		{[]ArgKind{TensorArg, ListArg, IntArg}, nil},
		{[]ArgKind{TensorArg, ListArg, IntArg, FloatArg, TensorArg, IntArg}, nil},
		{nil, nil},
	} {
		got, ok := Earlier(s.Args, c.args)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %t, want %v", c.args, got, ok, c.want)
		}
	}
}
