package ir

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// Print writes p in the text form, which Parse reads:
//
//	program "counter.pt2"
//	dialect functional
//
//	method forward {
//	  symbol s77 in [1, 64]
//	  takes builtins.tuple(builtins.tuple(*), builtins.dict())
//	  returns *
//	  parameter %p_w: f32[4, 8] "l.weight" = data(5fd924625f6ab16a, 128)
//	  buffer %b_n: f32[] "n" persistent = [0.0]
//	  input %x: f32[s77, 8]
//	  const %c: i64[2] = [1, 2]
//
//	  %add: f32[s77, 8] = aten.add.Tensor(self=%x, other=%b_n, alpha=1)  # model.py:12 in layers.0
//	  %if: f32[s77, 8] = cond(%p)
//	    region () {
//	      return (%add)
//	    }
//	    region () {
//	      return (%x)
//	    }
//	  return (%if, mutates_buffer "n" = %add_1)
//	}
//
// A tensor type shows its strides, then "offset(n)", only when they are not
// those of a dense row-major tensor: f32[10, 5][1, 10] offset(3). A node
// whose name is not that of its first output shows it before the operator
// ("= split: aten.split.Tensor(…)"); one without outputs begins with "() =",
// and an output that is None is written none.
//
// A constant shows the elements of its storage (not of the view on it) when
// there are at most 16, else data(D, N): the N bytes of the storage and the
// start of their SHA-256. An element that decimal digits do not give exactly,
// such as a NaN with a payload, is written as its bits, 0x….
//
// A program that does not verify prints too, with nil where something is
// missing.
//
// The error is that of w or of reading a constant.
func Print(w io.Writer, p *Program) error {
	pr := newPrinter()
	pr.printf("program %s\n", strconv.Quote(p.Source))
	if p.Dialect != "" {
		pr.printf("dialect %s\n", p.Dialect)
	}
	for _, m := range p.Methods {
		if m == nil || m.Graph == nil {
			pr.str("\nmethod nil\n")
			continue
		}
		pr.method(m)
	}
	if _, err := w.Write(pr.buf.Bytes()); err != nil {
		return err
	}
	return pr.err
}

// String returns the text form; a constant that cannot be read shows as
// data(unreadable, N).
func (p *Program) String() string {
	var b strings.Builder
	_ = Print(&b, p) // the text says what could not be read
	return b.String()
}

// String returns the text form of the node, regions included.
func (n *Node) String() string {
	pr := newPrinter()
	pr.node(n)
	return strings.TrimSuffix(pr.buf.String(), "\n")
}

type printer struct {
	buf     bytes.Buffer
	err     error // first failure to read a constant
	indent  int
	digests digestCache
	around  map[*Graph]bool // the graphs being printed
}

func newPrinter() *printer {
	return &printer{digests: digestCache{}, around: map[*Graph]bool{}}
}

func (pr *printer) printf(format string, args ...any) { fmt.Fprintf(&pr.buf, format, args...) }

func (pr *printer) str(s string) { pr.buf.WriteString(s) }

// line begins a line.
func (pr *printer) line() {
	for range pr.indent {
		pr.str("  ")
	}
}

func (pr *printer) method(m *Method) {
	pr.printf("\nmethod %s {\n", nameText(m.Name))
	pr.indent++
	for _, s := range m.Symbols {
		pr.line()
		pr.symbol(s)
		pr.str("\n")
	}
	pr.tree("takes", m.In)
	pr.tree("returns", m.Out)
	for i, v := range m.Graph.Inputs {
		pr.line()
		var spec InputSpec
		if i < len(m.Inputs) {
			spec = m.Inputs[i]
		}
		pr.input(v, spec)
	}
	pr.constants(m.Graph)
	if len(m.Graph.Inputs)+len(m.Graph.Constants)+len(m.Symbols) > 0 || m.In != nil ||
		m.Out != nil {
		pr.str("\n")
	}
	pr.body(m.Graph, m.Outputs)
	pr.indent--
	pr.str("}\n")
}

func (pr *printer) symbol(s *sym.Symbol) {
	if s == nil {
		pr.str("symbol nil")
		return
	}
	pr.printf("symbol %s in %s", s.Name, text.Range(s, nil))
}

func (pr *printer) tree(word string, t *Tree) {
	if t != nil {
		pr.line()
		pr.printf("%s ", word)
		pr.treeNode(t)
		pr.str("\n")
	}
}

func (pr *printer) treeNode(t *Tree) {
	if t.Type == "" {
		pr.str("*")
		return
	}
	pr.str(nameText(t.Type))
	pr.str("(")
	for i, c := range t.Children {
		if i > 0 {
			pr.str(", ")
		}
		if i < len(t.Keys) {
			pr.printf("%s: ", strconv.Quote(t.Keys[i]))
		}
		pr.treeNode(c)
	}
	pr.str(")")
}

func (pr *printer) input(v *Value, spec InputSpec) {
	word := fmt.Sprintf("kind(%d)", spec.Kind)
	if int(spec.Kind) < len(inputWords) {
		word = inputWords[spec.Kind]
	}
	pr.str(word)
	pr.str(" ")
	pr.def(v)
	if spec.Target != "" {
		pr.printf(" %s", strconv.Quote(spec.Target))
	}
	if spec.Persistent {
		pr.str(" persistent")
	}
	if spec.Fixed != nil {
		pr.str(" = ")
		pr.arg(spec.Fixed)
	}
	pr.constant(v, spec.Target) // the constant's name is as a rule the target
	pr.str("\n")
}

func (pr *printer) constants(g *Graph) {
	for _, v := range g.Constants {
		pr.line()
		pr.str("const ")
		pr.def(v)
		pr.constant(v, "")
		pr.str("\n")
	}
}

// constant prints the data of v if it has any, with those of the constant's
// name and type that differ from what the line says already.
func (pr *printer) constant(v *Value, name string) {
	if v == nil || v.Const == nil {
		return
	}
	c := v.Const
	pr.str(" =")
	if c.Name != name {
		pr.printf(" named %s", strconv.Quote(c.Name))
	}
	if !c.Type.Equal(v.Type) {
		pr.str(" typed ")
		pr.typ(c.Type)
	}
	text, err := constantText(c, pr.digests)
	if err != nil && pr.err == nil {
		pr.err = fmt.Errorf("constant %%%s: %w", v.Name, err)
	}
	if strings.HasPrefix(text, "[") && !c.Type.Equal(v.Type) {
		pr.str(" values") // else the list reads as the type's strides
	}
	pr.printf(" %s", text)
}

// body prints nodes and outputs; specs is nil for a region.
func (pr *printer) body(g *Graph, specs []OutputSpec) {
	pr.around[g] = true
	defer delete(pr.around, g)
	for _, n := range g.Nodes {
		pr.line()
		pr.node(n)
	}
	pr.line()
	pr.str("return (")
	for i, a := range g.Outputs {
		if i > 0 {
			pr.str(", ")
		}
		if i < len(specs) {
			pr.outputSpec(specs[i])
		}
		pr.arg(a)
	}
	pr.str(")\n")
}

func (pr *printer) outputSpec(s OutputSpec) {
	if s == (OutputSpec{}) {
		return
	}
	word := fmt.Sprintf("kind(%d)", s.Kind)
	if int(s.Kind) < len(outputWords) {
		word = outputWords[s.Kind]
	}
	if s.Kind == UserOutput {
		word = "user"
	}
	pr.str(word)
	if s.Target != "" {
		pr.printf(" %s", strconv.Quote(s.Target))
	}
	pr.str(" = ")
}

func (pr *printer) node(n *Node) {
	if n == nil {
		pr.str("nil\n")
		return
	}
	first := ""
	for i, v := range n.Outputs {
		if i > 0 {
			pr.str(", ")
		}
		if v == nil {
			pr.str("none")
			continue
		}
		pr.def(v)
		if first == "" {
			first = v.Name
		}
	}
	if len(n.Outputs) == 0 {
		pr.str("()")
	}
	pr.str(" = ")
	if n.Name != first {
		pr.printf("%s: ", nameText(n.Name))
	}
	pr.str(nameText(n.Op))
	pr.str("(")
	for i, a := range n.Args {
		if i > 0 {
			pr.str(", ")
		}
		if a.Name != "" {
			pr.printf("%s=", nameText(a.Name))
		}
		pr.arg(a.Value)
	}
	pr.str(")")
	if n.Loc != (Location{}) {
		pr.printf("  # %s", n.Loc)
	}
	pr.str("\n")
	pr.indent++
	for _, r := range n.Regions {
		pr.region(r)
	}
	pr.indent--
}

func (pr *printer) region(g *Graph) {
	pr.line()
	if g == nil || pr.around[g] { // Verify reports it
		pr.str("region nil\n")
		return
	}
	pr.str("region (")
	for i, v := range g.Inputs {
		if i > 0 {
			pr.str(", ")
		}
		pr.def(v)
	}
	pr.str(") {\n")
	pr.indent++
	pr.constants(g)
	pr.body(g, nil)
	pr.indent--
	pr.line()
	pr.str("}\n")
}

// def prints a value where it is defined.
func (pr *printer) def(v *Value) {
	if v == nil {
		pr.str("nil")
		return
	}
	pr.printf("%s: ", valueText(v.Name))
	pr.typ(v.Type)
}

// DataString returns the text of elements of type d: the elements if there are
// at most 16, else data(D, N), the start of the digest and the length in bytes.
// The length of data must be a multiple of d's size.
func DataString(d DType, data []byte) string {
	c := &Constant{Type: Type{Kind: TensorKind, DType: d}, Data: Bytes(data)}
	s, _ := constantText(c, digestCache{}) // reading memory does not fail
	return s
}
