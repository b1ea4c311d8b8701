package portable

import (
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/rt"
)

// earlier returns k for a call of an earlier version of the operator, which had
// fewer arguments; ok is false if they do not fit.
func (k *kernel) earlier(args []*rt.EValue) (_ *kernel, ok bool) {
	n := len(args) - k.outs
	if n < 0 || n >= len(k.in) || k.first != len(k.in) {
		return nil, false
	}
	var kinds []aten.ArgKind
	for _, v := range args[:n] {
		if v == nil {
			return nil, false
		}
		kinds = append(kinds, argKind(v.Kind))
	}
	at, ok := aten.Earlier(k.in, kinds)
	if !ok {
		return nil, false
	}
	old := *k
	old.in, old.first = nil, n
	for _, i := range at {
		old.in = append(old.in, k.in[i])
	}
	return &old, true
}

func argKind(k rt.Kind) aten.ArgKind {
	switch k {
	case rt.None:
		return aten.NoArg
	case rt.Int:
		return aten.IntArg
	case rt.Bool:
		return aten.BoolArg
	case rt.Double:
		return aten.FloatArg
	case rt.String:
		return aten.StringArg
	case rt.TensorKind:
		return aten.TensorArg
	}
	return aten.ListArg
}
