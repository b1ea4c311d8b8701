package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// Delegates are run by backends that the caller gives New: see delegates.go, which the package has
// then. Their payloads are among the weights.

// delegateNames are what delegates.go declares besides.
var delegateNames = []string{"Backend", "Backends", "Delegate", "Blob", "Tensor", "Runner",
	"ErrBackend", "runDelegate", "initDelegates", "initDelegate", "delegateFailed"}

// delegateTypes is delegates.go but for the table of delegates.
const delegateTypes = `
// ErrBackend is what New returns, wrapped, if a delegate's backend is not among those given.
var ErrBackend = errors.New("%[1]s: no backend")

// Backends are what runs the parts of the model that were compiled for something else, by the
// names that the model has for them.
type Backends map[string]Backend

// Backend runs delegates: parts of the model that it was compiled for.
type Backend interface {
	// Init prepares a delegate. New calls it once for each of a Model.
	Init(*Delegate) (Runner, error)
}

// Runner is a delegate that is ready.
type Runner interface {
	// Execute reads inputs and writes outputs, which are in the order of the payload's arguments
	// and do not overlap. An output whose sizes only the backend knows has the most that they may
	// be; its sizes go to an int64 tensor for each such output, behind all outputs. Execute must not
	// keep tensors. One goroutine at a time calls it.
	Execute(inputs, outputs []Tensor) error
}

// Delegate is a part of the model.
type Delegate struct {
	Name, Backend string
	Processed     []byte // the payload; nobody may write to it
	Specs, Named  []Blob // options, and data beside the payload
}

// Blob is data with its name.
type Blob struct {
	Key  string
	Data []byte
}

// Tensor is dense, with its dimensions in the order of memory. A number is one without dimensions.
type Tensor struct {
	Data  any // a slice of the elements
	Sizes []int
	DType string // PyTorch's name of it, as "float32"
}

// initDelegate prepares a delegate; a panic of the backend is an error.
func initDelegate(backends Backends, d *Delegate) (r Runner, err error) {
	b := backends[d.Backend]
	if b == nil {
		return nil, fmt.Errorf("%%w for %%s, which %%s runs", ErrBackend, d.Name, d.Backend)
	}
	defer delegateFailed(d.Name, &err)
	if r, err = b.Init(d); err == nil && r == nil {
		err = errors.New("method Init returns no Runner")
	}
	return r, err
}

// runDelegate runs a delegate; a panic of it is an error.
func runDelegate(name string, r Runner, inputs, outputs []Tensor) (err error) {
	defer delegateFailed(name, &err)
	return r.Execute(inputs, outputs)
}

// delegateFailed says which delegate has failed, by an error or a panic.
func delegateFailed(name string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%[1]s: delegate %%s: its backend panicked: %%v", name, r)
	} else if *err != nil {
		*err = fmt.Errorf("%[1]s: delegate %%s: %%w", name, *err)
	}
}
`

// delegates prints delegates.go, nil if there are no delegates.
func (g *generator) delegates() []byte {
	if len(g.p.Delegates) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, delegateTypes, g.unit.name)
	fmt.Fprintf(&b, "\n// initDelegates prepares the delegates of a Model.\n"+
		"func initDelegates(backends Backends, w *weights) (runners [%d]Runner, err error) {\n"+
		"\tfor i, d := range []*Delegate{\n", len(g.p.Delegates))
	blobs := func(field string, n int, blob func(i int) (foreign.Text, *native.Const)) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, ", %s: []Blob{", field)
		for i := range n {
			key, c := blob(i)
			fmt.Fprintf(&b, "{%s, w.%s}, ", key.GoLiteral(), g.fields[c])
		}
		b.WriteString("}")
	}
	for _, d := range g.p.Delegates {
		fmt.Fprintf(&b, "{Name: %s, Backend: %s, Processed: w.%s", foreign.Of(d.Name).GoLiteral(),
			d.Backend.GoLiteral(), g.fields[d.Processed])
		blobs("Specs", len(d.Specs), func(i int) (foreign.Text, *native.Const) {
			return d.Specs[i].Key, d.Specs[i].Value
		})
		blobs("Named", len(d.Named), func(i int) (foreign.Text, *native.Const) {
			return d.Named[i].Key, d.Named[i].Data
		})
		b.WriteString("},\n")
	}
	b.WriteString("} {\n\t\tif runners[i], err = initDelegate(backends, d); err != nil {\n" +
		"\t\t\treturn runners, err\n\t\t}\n\t}\n\treturn runners, nil\n}\n")
	return g.unit.file(g.header(), b.String())
}

// newDelegates prints New for a Model with delegates.
func (g *generator) newDelegates(f *jen.File, model jen.Code) {
	if g.opt.Internal || g.opt.Threads > 1 {
		must.Fail("a package with delegates has a door of its own, and no threads")
	}
	f.Comment("New returns a Model whose delegates run on the backends.")
	f.Func().Id("New").Params(jen.Id("backends").Id("Backends")).Params(jen.Op("*").Id("Model"),
		jen.Error()).BlockFunc(func(b *jen.Group) {
		b.Id("m").Op(":=").Add(model)
		if len(g.p.State) > 0 {
			b.Id("m").Dot("Reset").Call()
		}
		b.Var().Err().Error()
		b.List(jen.Id("m").Dot("runners"), jen.Err()).Op("=").Id("initDelegates").Call(
			jen.Id("backends"), jen.Id("m").Dot("weights"))
		b.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err()))
		b.Return(jen.Id("m"), jen.Nil())
	})
}

// runnerName is the parameter of a kernel that calls a delegate.
const runnerName = "runner"

// delegateOf is the number of the delegate that a kernel calls, -1 if it calls none.
func (g *generator) delegateOf(f *loop.Func) int {
	if f == nil {
		return -1
	}
	for _, s := range f.Invokes() {
		if d := g.p.DelegateOf(s); d != nil {
			return slices.Index(g.p.Delegates, d)
		}
	}
	return -1
}

// delegate writes the call of a delegate, which is the whole of a function.
func (p *printer) delegate(s *loop.Invoke) {
	var ins, outs []string
	for i, a := range s.Args[1:] {
		switch a.Kind {
		case loop.ReadTensor, loop.WrittenTensor:
			buf := a.Buf
			if a.Kind == loop.ReadTensor {
				buf = a.Value.Buf
			}
			d := p.dtypes[buf]
			sizes := seq.Map(a.Sizes, func(n sym.Expr) string { return p.index(n, precAny) })
			n := p.index(sym.Mul(a.Sizes...), precAny)
			text := fmt.Sprintf("{%s[:%s:%s], []int{%s}, %q}", p.buf(buf), n, n,
				strings.Join(sizes, ", "), d)
			if a.Kind == loop.WrittenTensor {
				outs = append(outs, text)
			} else {
				ins = append(ins, text)
			}
		default:
			ins = append(ins, p.numberTensor(i, a))
		}
	}
	name, _ := s.Args[0].Const.(ir.Str)
	p.line("return runDelegate(%s, %s,\n[]Tensor{%s},\n[]Tensor{%s})",
		foreign.Of(string(name)).GoLiteral(), runnerName, strings.Join(ins, ", "),
		strings.Join(outs, ", "))
}

// numberTensor is a number as a tensor.
func (p *printer) numberTensor(i int, a loop.Actual) string {
	d, ok := a.NumberType()
	if !ok {
		must.Fail("argument %d of a delegate is %s, which Go does not pass", i,
			ir.ArgString(a.Const))
	}
	in := &invocation{printer: p}
	typ := goType(d)
	return fmt.Sprintf("{[]%s{%s}, nil, %q}", typ, in.number(typ, a), d)
}
