package aten

// ArgKind is what an argument of a program is, as far as that tells parameters
// apart.
type ArgKind uint8

// The kinds of arguments.
const (
	NoArg ArgKind = iota // None
	IntArg
	BoolArg
	FloatArg
	StringArg
	TensorArg
	ListArg // of whatever
)

// Earlier returns, for each argument of a call, its position among params. The
// call may be of an earlier version of the operator, which had not all of them:
// a parameter that can do without an argument gets none if the next argument is
// of another kind. ok is false if the arguments do not fit.
func Earlier(params []Param, args []ArgKind) (at []int, ok bool) {
	for i := range params {
		p := &params[i]
		if n := len(at); n < len(args) && args[n].fits(p.Type) {
			at = append(at, i)
		} else if !p.HasDefault && !p.Type.Optional {
			return nil, false
		}
	}
	return at, len(at) == len(args)
}

// fits reports whether an argument of kind k may stand for one of type t.
func (k ArgKind) fits(t *Type) bool {
	if k == NoArg {
		return t.Optional
	}
	if k == ListArg || t.IsList() {
		return k == ListArg && t.IsList()
	}
	switch t.Name {
	case "Tensor":
		return k == TensorArg
	case "bool":
		return k == BoolArg
	case "str", "Device":
		return k == StringArg
	case "float":
		return k == FloatArg || k == IntArg
	case "Scalar":
		return k == IntArg || k == FloatArg || k == BoolArg
	}
	return k == IntArg
}
