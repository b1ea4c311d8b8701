package optimize

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/plan"
	"github.com/etgen/etgen/rt"
)

// code is a compiled method. It does not change; interpreters run it.
type code struct {
	method  *native.Method
	state   []*native.Buffer
	binding *native.Binding
	// inputs and outputs are by the program's; see port.
	inputs, outputs []port
	kernels         map[*native.Kernel]*kernel
	consts          map[*native.Const][]byte
}

// port is an input or output of the program.
type port struct {
	native int     // index among the compiled method's, -1 if it has none
	order  []uint8 // dimensions in the order of memory; the compiled method's tensor is so ordered
	staged bool    // an output that is not computed where it belongs
	done   bool    // an output that is there without the method
}

// compile compiles the method.
func compile(b *rt.Boundary, o Options) *code {
	file, data := withConstants(b)
	table := tableOf(o)
	var origins raise.Origins
	if o.Parts != nil {
		origins = func(_, _ int, handle uint32) ir.Location { return ir.Location{Line: int(handle)} }
	}
	p, _ := must.Get2(raise.Planned(file, "program", table, origins, data))
	c := &code{kernels: map[*native.Kernel]*kernel{}, consts: map[*native.Const][]byte{}}
	c.ports(b, p.Methods[0])
	target := tuned.Running()
	must.Check(lower.Backend.Run(&lower.Context{Table: table, Speed: true,
		Floats: target.Language.FindsVectors, Legal: tuned.Legal(tuned.Standard(), target),
		Bytes: tuned.MultipliesBytes(tuned.Standard(), target)}, p, nil))
	if o.Lowered != nil {
		o.Lowered(b.Plan.Name, p)
	}
	np := must.Get(native.Build(p, native.Options{
		Table: table, Kernels: tuned.Standard(), Planner: plan.Best{}, Specialise: true,
		Target: target,
	}))
	c.method, c.state = np.Methods[0], np.State
	c.checkPorts(b)
	c.binding = must.Get(native.Bind(c.method))
	native.EachCall(c.method.Body, func(call *native.Call) {
		if c.kernels[call.Kernel] == nil {
			must.Do(func() { c.kernels[call.Kernel] = newKernel(call, b.Plan) }, "kernel %s",
				call.Kernel.Name)
		}
	})
	c.keep(b, np.Consts)
	return c
}

// withConstants returns the program with nothing but the method, its constants
// being those that the runtime has read.
func withConstants(b *rt.Boundary) (*pte.Program, *pte.DataFile) {
	file := *b.Program.File()
	file.Plans = []*pte.ExecutionPlan{b.Plan}
	file.Constants = append([]ir.Blob(nil), file.Constants...)
	data := &pte.DataFile{}
	for i, v := range b.Plan.Values {
		t, ok := v.(*pte.Tensor)
		if !ok {
			continue
		}
		external := t.IsExternal()
		switch {
		case t.Allocation != nil && t.Allocation.MemoryID > 1 && t.ExtraInfo != nil &&
			t.ExtraInfo.Name != "" && len(b.Program.File().Plans) > 1:
			panic(fmt.Errorf("value %d: state %s in memory that other methods may share",
				i, t.ExtraInfo.Name))
		case t.Allocation != nil && external:
			panic(fmt.Errorf("value %d: state that begins with external data", i))
		case t.Allocation != nil || !external && t.DataIndex == 0:
			continue
		}
		bytes, err := b.Constant(t)
		must.In(err, "value %d", i)
		if !external {
			if at := &file.Constants[t.DataIndex]; *at == nil || (*at).Size() == int64(len(bytes)) {
				*at = ir.Bytes(bytes)
			}
			continue
		}
		if _, ok := data.Find(t.ExtraInfo.Name); !ok {
			data.Entries = append(data.Entries, pte.DataEntry{
				Key: t.ExtraInfo.Name, Data: ir.Bytes(bytes),
				Layout: &pte.TensorLayout{ScalarType: t.ScalarType, Sizes: t.Sizes,
					DimOrder: t.DimOrder},
			})
		}
	}
	if len(b.Plan.Delegates) > 0 { // what they refer to is theirs to know
		for _, f := range b.Options.Data {
			for _, e := range f.File().Entries {
				if _, ok := data.Find(e.Key); !ok {
					data.Entries = append(data.Entries, e)
				}
			}
		}
	}
	return &file, data
}

// pool is the constants of a program's methods: equal ones are one.
type pool struct {
	mu   sync.Mutex
	data map[[sha256.Size]byte][]byte
}

// poolKey is where a program keeps its pool.
type poolKey struct{}

// keep takes the constants into the pool.
func (c *code) keep(b *rt.Boundary, consts []*native.Const) {
	made := must.Get(b.Shared(poolKey{}, func() (any, error) {
		return &pool{data: map[[sha256.Size]byte][]byte{}}, nil
	}))
	p := made.(*pool)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range consts {
		key := sha256.Sum256(k.Data)
		if p.data[key] == nil {
			p.data[key] = k.Data
		}
		c.consts[k] = p.data[key]
		k.Data = nil // what is held on to is in the pool
	}
	for k := range c.kernels {
		for i := range packedOf(k) {
			k.Tuned.Packed[i].Data = nil
		}
	}
}

func packedOf(k *native.Kernel) []tuned.Packed {
	if k.Tuned == nil {
		return nil
	}
	return k.Tuned.Packed
}

// kernel is a kernel compiled.
type kernel struct {
	loops    *eval.Program // a loop kernel
	tuned    *tunedKernel
	delegate *delegation
	custom   *loop.Invoke // of a custom operator
}

func newKernel(c *native.Call, plan *pte.ExecutionPlan) *kernel {
	k, out := c.Kernel, &kernel{}
	if out.delegate = newDelegation(k, plan); out.delegate != nil {
		return out
	}
	switch out.custom = customOf(k); {
	case out.custom != nil:
	case k.Tuned != nil:
		out.tuned = newTuned(k, c.Args[0].Len)
	case !k.Copy:
		out.loops = must.Get(eval.Compile(k.Loop))
	}
	return out
}

// slots gives symbols their places among the values of an interpreter.
type slots map[*sym.Symbol]int

func (s slots) of(x *sym.Symbol) int {
	i, ok := s[x]
	if !ok {
		i = len(s)
		s[x] = i
	}
	return i
}

var errUnknownSize = errors.New("a size that nothing determines")

// index compiles an index expression of symbols that have places.
func (s slots) index(e sym.Expr) (func([]int64) (int64, error), error) {
	for _, x := range e.Symbols() {
		if _, ok := s[x]; !ok {
			return nil, fmt.Errorf("%w: %s", errUnknownSize, x.Name)
		}
	}
	return eval.Index(e, func(x *sym.Symbol) (int, bool) { i, ok := s[x]; return i, ok })
}
