package ir

// CallDelegate is the operator of nodes that run a delegate: ExecuTorch's
// executorch_call_delegate. Its first argument is the delegate's name, a Str; the others are the
// delegate's arguments, which have no names. Its outputs are what the delegate gives.
const CallDelegate = "executorch_call_delegate"

// Delegate is a part of a program that a backend compiled and runs.
type Delegate struct {
	Name      string // unique in the program
	Backend   string // the id that the backend is known by at run time
	Processed Blob   // the payload
	Specs     []CompileSpec
	// Named is data beside the payload; what has one key in several delegates is the same.
	Named []NamedData
	// Debug says what the delegate's events stand for.
	Debug []DelegateEvent
	// Unread says why etgen does not read the payload, "" for a delegate of its own making.
	Unread string
	// Told is how many of its results, the last ones, are the sizes of others.
	Told int
}

// CompileSpec is an option that a backend was given.
type CompileSpec struct {
	Key   string
	Value []byte
}

// NamedData is a blob with its name.
type NamedData struct {
	Key  string
	Data Blob
}

// DelegateEvent is something that a delegate reports when it runs: its delegate debug id, and
// the nodes of the model that it stands for.
type DelegateEvent struct {
	ID    string // decimal if it is a number
	Nodes []Origin
}

// DelegateKernel stands for a kernel's name where an instruction calls a delegate.
const DelegateKernel = "delegate"

// Origin is a node that is no longer there.
type Origin struct {
	Node, Op string
	Loc      Location
}

// DelegateNamed returns the delegate of that name, nil if there is none.
func (p *Program) DelegateNamed(name string) *Delegate {
	for _, d := range p.Delegates {
		if d.Name == name {
			return d
		}
	}
	return nil
}
