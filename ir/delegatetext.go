package ir

import (
	"fmt"
	"io"
	"strconv"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/text"
)

// maxBytesInline is the number of bytes up to which the text form shows a blob of a delegate.
const maxBytesInline = 64

// delegate prints
//
//	delegate lowered_module_0 "NpuBackend" = data(5fd924625f6ab16a, 128)
//	  spec "mode" = "\x04"
//	  named "key" = "bytes"
//	  event "0" of add: aten.add.Tensor  # model.py:12 in layers.0
//
// A blob of few bytes is a quoted string.
func (pr *printer) delegate(d *Delegate) {
	if d == nil {
		pr.str("delegate nil\n")
		return
	}
	pr.printf("delegate %s %s = ", nameText(d.Name), strconv.Quote(d.Backend))
	pr.blob(d.Processed, d.Name)
	for _, s := range d.Specs {
		pr.printf("  spec %s = %s\n", strconv.Quote(s.Key), strconv.Quote(string(s.Value)))
	}
	for _, n := range d.Named {
		pr.printf("  named %s = ", strconv.Quote(n.Key))
		pr.blob(n.Data, n.Key)
	}
	for _, e := range d.Debug {
		if len(e.Nodes) == 0 {
			pr.printf("  event %s\n", strconv.Quote(e.ID))
		}
		for _, o := range e.Nodes {
			pr.printf("  event %s of %s: %s", strconv.Quote(e.ID), nameText(o.Node), nameText(o.Op))
			if o.Loc != (Location{}) {
				pr.printf("  # %s", o.Loc)
			}
			pr.str("\n")
		}
	}
}

func (pr *printer) blob(b Blob, name string) {
	if b == nil {
		pr.str("data()\n")
		return
	}
	size := b.Size()
	_, unresolved := b.(Unresolved)
	var text string
	var err error
	if unresolved || size > maxBytesInline {
		if text, err = pr.digests.digest(b); err == nil {
			text = fmt.Sprintf("data(%s, %d)", text, size)
		}
	} else {
		data := make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(b, 0, size), data)
		text = strconv.Quote(string(data))
	}
	if err != nil {
		text = fmt.Sprintf("data(unreadable, %d)", size)
		if pr.err == nil {
			pr.err = fmt.Errorf("%s: %w", foreign.Message(name), err)
		}
	}
	pr.printf("%s\n", text)
}

// delegate parses what the printer's delegate writes, behind the first word.
func (ps *parser) delegate() *Delegate {
	d := &Delegate{Name: ps.NameOrString("a delegate's name"),
		Backend: ps.Want(text.String, "the quoted backend").Text}
	ps.Expect("=")
	d.Processed = ps.blob()
	for {
		switch {
		case ps.AcceptName("spec"):
			key := ps.Want(text.String, "the quoted key").Text
			ps.Expect("=")
			value := ps.Want(text.String, "the quoted value").Text
			d.Specs = append(d.Specs, CompileSpec{key, []byte(value)})
		case ps.AcceptName("named"):
			key := ps.Want(text.String, "the quoted key").Text
			ps.Expect("=")
			d.Named = append(d.Named, NamedData{key, ps.blob()})
		case ps.AcceptName("event"):
			id := ps.Want(text.String, "the quoted id").Text
			if n := len(d.Debug); n == 0 || d.Debug[n-1].ID != id {
				d.Debug = append(d.Debug, DelegateEvent{ID: id})
			}
			if ps.AcceptName("of") {
				o := Origin{Node: ps.NameOrString("a node")}
				ps.Expect(":")
				o.Op = ps.NameOrString("an operator")
				o.Loc = parseLocation(ps.Comment())
				e := &d.Debug[len(d.Debug)-1]
				e.Nodes = append(e.Nodes, o)
			}
		default:
			return d
		}
	}
}

// blob parses a quoted string or data(digest, size).
func (ps *parser) blob() Blob {
	if ps.AcceptName("data") {
		return ps.digest()
	}
	return Bytes(ps.Want(text.String, "quoted bytes or data").Text)
}

// verifyDelegates checks the delegates of p.
func verifyDelegates(p *Program) (errs []error) {
	seen := map[string]bool{}
	for i, d := range p.Delegates {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("delegate %d: "+format, append([]any{i}, args...)...))
		}
		switch {
		case d == nil:
			fail("it is nil")
			continue
		case d.Name == "":
			fail("it has no name")
		case seen[d.Name]:
			fail("%s is the name of two delegates", foreign.Message(d.Name))
		case d.Backend == "":
			fail("it has no backend")
		case d.Processed == nil:
			fail("it has no payload")
		}
		seen[d.Name] = true
		events := map[string]bool{}
		for _, e := range d.Debug {
			if events[e.ID] {
				fail("event %q is there twice", e.ID)
			}
			events[e.ID] = true
		}
		for _, n := range d.Named {
			if n.Data == nil {
				fail("named data %q is not there", n.Key)
			}
		}
	}
	return errs
}

// callsDelegate checks that a call of a delegate names one of p.
func callsDelegate(p *Program, n *Node) error {
	if len(n.Args) == 0 {
		return fmt.Errorf("it names no delegate")
	}
	name, ok := n.Args[0].Value.(Str)
	if !ok {
		return fmt.Errorf("its first argument is no delegate's name")
	}
	if p.DelegateNamed(string(name)) == nil {
		return fmt.Errorf("there is no delegate %s", foreign.Message(string(name)))
	}
	return nil
}
