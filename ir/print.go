package ir

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// Print writes p in the text form, which Parse reads:
//
//	program "counter.pt2"
//	dialect functional
//	custom "my::filter(Tensor x, Tensor(a!) delay) -> Tensor"
//	delegate lowered_module_0 "NpuBackend" = data(5fd924625f6ab16a, 128)
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
	for _, schema := range p.Custom {
		pr.printf("custom %s\n", strconv.Quote(schema))
	}
	for _, d := range p.Delegates {
		pr.delegate(d)
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

// list prints n things with commas between them.
func (pr *printer) list(open string, n int, item func(i int), shut string) {
	pr.str(open)
	for i := range n {
		if i > 0 {
			pr.str(", ")
		}
		item(i)
	}
	pr.str(shut)
}

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
	pr.list(nameText(t.Type)+"(", len(t.Children), func(i int) {
		if i < len(t.Keys) {
			pr.printf("%s: ", strconv.Quote(t.Keys[i]))
		}
		pr.treeNode(t.Children[i])
	}, ")")
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
	pr.quantized(spec.Quantized)
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
	pr.list("return (", len(g.Outputs), func(i int) {
		if i < len(specs) {
			pr.outputSpec(specs[i])
		}
		pr.arg(g.Outputs[i])
	}, ")\n")
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
	pr.quantized(s.Quantized)
	pr.str(" = ")
}

// quantized prints what the integers of an input or output stand for.
func (pr *printer) quantized(q *QParams) {
	if q != nil {
		pr.str(" quantized ")
		pr.arg(List{Float(q.Scale), Int(q.ZeroPoint)})
	}
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
	pr.list(nameText(n.Op)+"(", len(n.Args), func(i int) {
		if a := n.Args[i]; a.Name != "" {
			pr.printf("%s=", nameText(a.Name))
		}
		pr.arg(n.Args[i].Value)
	}, ")")
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
	pr.list("region (", len(g.Inputs), func(i int) { pr.def(g.Inputs[i]) }, ") {\n")
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

// String returns the type in the text form, e.g. "f32[s77, 8]".
func (t Type) String() string {
	pr := newPrinter()
	pr.typ(t)
	return pr.buf.String()
}

// ArgString returns a in the text form.
func ArgString(a Arg) string {
	pr := newPrinter()
	pr.arg(a)
	return pr.buf.String()
}

func (pr *printer) typ(t Type) {
	switch {
	case t.Kind == TensorKind:
		pr.str(dtypeText(t.DType))
		pr.exprs(t.Sizes)
		if !denseStrides(t) {
			pr.exprs(t.Strides)
		}
		if !t.Offset.IsZero() {
			pr.printf(" offset(%s)", t.Offset)
		}
	case int(t.Kind) >= len(kindWords):
		pr.printf("kind(%d)", t.Kind)
	default:
		pr.str(kindWords[t.Kind])
		if t.HasExpr {
			pr.printf("(%s)", t.Expr)
		}
		if t.Class != "" {
			pr.printf("(%s)", strconv.Quote(t.Class))
		}
	}
}

// denseStrides reports whether the strides are exactly those that sizes give,
// also where they do not matter.
func denseStrides(t Type) bool {
	want := Contiguous(t.Sizes)
	if len(t.Strides) != len(want) {
		return false
	}
	for i, s := range t.Strides {
		if !s.Equal(want[i]) {
			return false
		}
	}
	return true
}

func (pr *printer) exprs(es []sym.Expr) {
	pr.list("[", len(es), func(i int) { pr.str(es[i].String()) }, "]")
}

func (pr *printer) arg(a Arg) {
	switch a := a.(type) {
	case nil:
		pr.str("nil")
	case Ref:
		if a.Value == nil {
			pr.str("nil")
		} else {
			pr.str(valueText(a.Value.Name))
		}
	case None:
		pr.str("none")
	case Int:
		pr.printf("%d", int64(a))
	case Float:
		pr.str(floatText(float64(a), 64))
	case BoolArg:
		pr.printf("%t", bool(a))
	case Str:
		pr.str(strconv.Quote(string(a)))
	case Complex:
		pr.printf("complex(%s, %s)", floatText(real(complex128(a)), 64),
			floatText(imag(complex128(a)), 64))
	case DTypeArg:
		pr.str(dtypeText(DType(a)))
	case LayoutArg:
		pr.printf("layout(%d)", int(a))
	case Device:
		pr.printf("device(%s)", strconv.Quote(string(a)))
	case MemoryFormat:
		if a == 0 || int(a) >= len(formatWords) {
			pr.printf("memory_format(%d)", uint8(a))
		} else {
			pr.str(formatWords[a])
		}
	case OpArg:
		pr.printf("op(%s)", nameText(string(a)))
	case List:
		pr.list("[", len(a), func(i int) { pr.arg(a[i]) }, "]")
	default:
		pr.printf("%T", a)
	}
}

// String returns "file.py:12 in layers.0", or what of it is known.
func (l Location) String() string {
	var s string
	if l.File != "" || l.Line != 0 {
		s = fmt.Sprintf("%s:%d", wordText(l.File), l.Line)
	}
	if l.Module == "" {
		return s
	}
	if s != "" {
		s += " "
	}
	return s + "in " + wordText(l.Module)
}

// wordText quotes s if it could not stand as a word of a comment.
func wordText(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '"' || !strconv.IsPrint(r)
	}) {
		return strconv.Quote(s)
	}
	return s
}

func dtypeText(d DType) string {
	if d == InvalidDType || d >= numDTypes {
		return d.String()
	}
	return d.Short()
}

func nameText(s string) string { return text.Quoted(s) }

func valueText(s string) string {
	if text.IsValueName(s) {
		return "%" + s
	}
	return "%" + strconv.Quote(s)
}

// floatText returns the shortest text that parses back to x, told from an
// integer by a point, an exponent or letters.
func floatText(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// The words of the text form, for printer and parser both.

var inputWords = [...]string{
	UserInput:      "input",
	Parameter:      "parameter",
	Buffer:         "buffer",
	TensorConstant: "constant",
	ConstantInput:  "fixed",
	TokenInput:     "token",
	CustomInput:    "object",
}

// outputWords are written before an output and its target; a user output has
// none.
var outputWords = [...]string{
	UserOutput:        "",
	BufferMutation:    "mutates_buffer",
	ParameterMutation: "mutates_parameter",
	UserInputMutation: "mutates_input",
	TokenOutput:       "token",
	LossOutput:        "loss",
	GradientOutput:    "gradient",
}

var kindWords = [...]string{
	NoneKind:   "none",
	TensorKind: "tensor",
	IntKind:    "int",
	FloatKind:  "float",
	BoolKind:   "bool",
	StringKind: "str",
	TokenKind:  "token",
	CustomKind: "object",
}

var formatWords = [...]string{
	ContiguousFormat: "contiguous_format",
	ChannelsLast:     "channels_last",
	ChannelsLast3d:   "channels_last_3d",
	PreserveFormat:   "preserve_format",
}

// indexOf returns the index of s in words, or -1. The empty word is none.
func indexOf(words []string, s string) int {
	for i, w := range words {
		if w == s && w != "" {
			return i
		}
	}
	return -1
}
