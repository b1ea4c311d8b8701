package ir

// Arg is an argument of a node: a reference to a value or a literal.
type Arg interface{ isArg() }

// The forms an argument takes. Ref.Value is never nil; an absent optional
// argument is None.
type (
	Ref          struct{ Value *Value }
	None         struct{}
	Int          int64
	Float        float64
	BoolArg      bool
	Str          string
	Complex      complex128
	DTypeArg     DType
	LayoutArg    int // torch.layout in the numbering of the export schema; 7 is strided
	Device       string
	MemoryFormat uint8
	OpArg        string // an operator passed to auto_functionalized or with_effects
	List         []Arg
)

// The memory formats.
const (
	ContiguousFormat MemoryFormat = iota + 1
	ChannelsLast
	ChannelsLast3d
	PreserveFormat
)

func (Ref) isArg()          {}
func (None) isArg()         {}
func (Int) isArg()          {}
func (Float) isArg()        {}
func (BoolArg) isArg()      {}
func (Str) isArg()          {}
func (Complex) isArg()      {}
func (DTypeArg) isArg()     {}
func (LayoutArg) isArg()    {}
func (Device) isArg()       {}
func (MemoryFormat) isArg() {}
func (OpArg) isArg()        {}
func (List) isArg()         {}

// EachRef calls f for every value that a refers to, in order.
func EachRef(a Arg, f func(*Value)) {
	switch a := a.(type) {
	case Ref:
		f(a.Value)
	case List:
		for _, x := range a {
			EachRef(x, f)
		}
	}
}

// MapRefs returns a with every reference replaced by f's result; it shares
// what does not change.
func MapRefs(a Arg, f func(*Value) Arg) Arg {
	switch a := a.(type) {
	case Ref:
		return f(a.Value)
	case List:
		out := make(List, len(a))
		for i, x := range a {
			out[i] = MapRefs(x, f)
		}
		return out
	}
	return a
}
