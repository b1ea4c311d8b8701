package native

import (
	"fmt"
	"io"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/loop"
)

// Delegate is a part of the program that a backend runs. Kernels call it by Invokes of
// ir.CallDelegate, whose first argument is the delegate's name.
type Delegate struct {
	Name      string // unique in the program
	Backend   foreign.Text
	Processed *Const
	Specs     []Spec
	Named     []Named
	Unread    string // why etgen does not read the payload, "" for one of its own making
}

// Spec is an option that the backend was given.
type Spec struct {
	Key   foreign.Text
	Value *Const
}

// Named is data beside the payload.
type Named struct {
	Key  foreign.Text
	Data *Const
}

// delegates takes the delegates of p, and their payloads among the constants.
func delegates(p *ir.Program, consts *constPool) (all []*Delegate) {
	for _, d := range p.Delegates {
		bytes := func(what string, b ir.Blob) *Const {
			if b == nil {
				must.Fail("%s: %s: its %s is not there", p.Source, foreign.Message(d.Name), what)
			}
			data := make([]byte, b.Size())
			_, err := io.ReadFull(io.NewSectionReader(b, 0, b.Size()), data)
			must.In(err, "%s: %s: its %s", p.Source, foreign.Message(d.Name), what)
			return consts.add(d.Name+"_"+what, ir.Uint8, data)
		}
		out := &Delegate{Name: d.Name, Backend: foreign.Of(d.Backend),
			Processed: bytes("payload", d.Processed), Unread: d.Unread}
		for _, s := range d.Specs {
			out.Specs = append(out.Specs, Spec{foreign.Of(s.Key), bytes("spec", ir.Bytes(s.Value))})
		}
		for i, n := range d.Named {
			out.Named = append(out.Named, Named{foreign.Of(n.Key), bytes(fmt.Sprintf("data%d", i), n.Data)})
		}
		all = append(all, out)
	}
	return all
}

// DelegateOf returns the delegate that s calls, nil if it calls a custom operator.
func (p *Program) DelegateOf(s *loop.Invoke) *Delegate {
	if s.Op.Name != ir.CallDelegate {
		return nil
	}
	name, _ := s.Args[0].Const.(ir.Str)
	for _, d := range p.Delegates {
		if d.Name == string(name) {
			return d
		}
	}
	must.Fail("there is no delegate %s", foreign.Message(string(name)))
	return nil
}

// DelegatesOf returns the delegates that k calls.
func (p *Program) DelegatesOf(k *Kernel) (list []*Delegate) {
	for _, s := range k.Invokes() {
		if d := p.DelegateOf(s); d != nil && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// Blobs are the constants of all delegates, each once.
func (p *Program) Blobs() (all []*Const) {
	seen := map[*Const]bool{}
	add := func(c *Const) {
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	for _, d := range p.Delegates {
		for _, c := range d.Blobs() {
			add(c)
		}
	}
	return all
}

// Blobs are the constants of d.
func (d *Delegate) Blobs() []*Const {
	all := []*Const{d.Processed}
	for _, s := range d.Specs {
		all = append(all, s.Value)
	}
	for _, n := range d.Named {
		all = append(all, n.Data)
	}
	return all
}
