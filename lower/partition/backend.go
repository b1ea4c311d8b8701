package partition

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
)

// Backend compiles parts of programs. One that is for the command line is linked into it by
// the package cmd.
type Backend interface {
	// About says what the backend is.
	About() About
	// Partition says which nodes of g the backend takes, by Take and Refuse. It is called for the
	// main graph of each method and for each region, and changes nothing.
	Partition(g *Graph) error
	// Preprocess makes the payload of a part. The part is the backend's own: it may change it.
	Preprocess(p *Part) (*Payload, error)
}

// About is what is known of a backend without a program.
type About struct {
	Name    string // as --backend has it: "xnnpack"
	ID      string // by which programs call it: "XnnpackBackend"
	Doc     string // one line
	Options []Option
}

// Option is a key that a backend takes, as in --backend=NAME:KEY=VALUE.
type Option struct{ Name, Doc string }

// Keeper is a backend that takes composite operators whole.
type Keeper interface {
	// Keeps reports whether the backend takes the call as it is; then it is not decomposed before
	// Partition. A call that the backend does not take after all is decomposed later.
	Keeps(c *ops.Call) bool
}

// Transformer is a backend with passes over the whole program before it is partitioned. They
// leave it in the edge dialect, and right for those who do not take what they made.
type Transformer interface {
	Passes() []lower.Pass
}

// Quantizer is a backend that says what of a float model is to be quantized for it, and how.
type Quantizer interface {
	// Quantizer returns what annotates methods. Own is etgen's quantizer with the scheme, the
	// layers that stay float32 and all else that the user asks for.
	Quantizer(own *quantize.Default, specs []ir.CompileSpec) quantize.Quantizer
}

// QuantizerOf returns what makes the quantizer of the first backend that has one, nil if none has.
func QuantizerOf(uses []*Use) func(own *quantize.Default) quantize.Quantizer {
	for _, use := range uses {
		if q, ok := use.Backend.(Quantizer); ok {
			return func(own *quantize.Default) quantize.Quantizer { return q.Quantizer(own, use.Specs) }
		}
	}
	return nil
}

// Use is a backend with what it is asked for.
type Use struct {
	Backend Backend
	// Specs are the options given to it, in order.
	Specs []ir.CompileSpec
	// Module limits it to the nodes of an nn.Module and the modules in it; "" is all.
	Module string
	// Whole says that all these nodes must become one part of each method.
	Whole bool
}

// Part is what a delegate computes, as a program of its own.
type Part struct {
	// Name is the delegate's, unique in the program.
	Name string
	// Program has one method, whose user inputs are the arguments of the delegate's call and
	// whose user outputs are its results. Its other inputs, and the constants of its graph, are
	// the delegate's own; so is state that a BufferMutation writes.
	Program *ir.Program
	Specs   []ir.CompileSpec
	Context *lower.Context // for passes of the backend's own
}

// Method is the one method of the part.
func (p *Part) Method() *ir.Method { return p.Program.Methods[0] }

// Spec returns the value of an option, "" if it was not given.
func (p *Part) Spec(key string) string { return specOf(p.Specs, key) }

func specOf(specs []ir.CompileSpec, key string) string {
	for _, s := range specs {
		if s.Key == key {
			return string(s.Value)
		}
	}
	return ""
}

// Payload is what a backend makes of a part.
type Payload struct {
	// Processed is what the backend's run side takes.
	Processed []byte
	// Specs go into the program: ExecuTorch writes those that were given.
	Specs []ir.CompileSpec
	// Named is data beside the payload, by keys. Entries of equal key are one in the program.
	Named []ir.NamedData
	// Debug says what the backend's events stand for.
	Debug []ir.DelegateEvent
}
