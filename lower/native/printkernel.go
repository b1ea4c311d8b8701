package native

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/tuned"
)

func (pr *printer) kernel(k *Kernel) {
	if !k.Doc.IsEmpty() {
		pr.line(nil, "# %s", strings.Join(strings.Fields(k.Doc.Raw()), " "))
	}
	word := "kernel "
	if k.Copy {
		word = "copy kernel "
	}
	pr.b.WriteString(word)
	if k.Loop != nil {
		pr.b.WriteString(k.Loop.Format())
		return
	}
	pr.symbols = text.NewNames[*sym.Symbol]()
	params := make([]string, len(k.Params))
	for i, s := range k.Params {
		params[i] = pr.symbols.Declare(s, s.Name) + " in " + text.Range(s, pr.symbols)
	}
	pr.line(nil, "%s(%s) = %s {", k.Name, strings.Join(params, ", "), k.Tuned.Kernel.Name)
	pr.indent++
	pr.tuned(k.Tuned)
	pr.indent--
	pr.line(nil, "}")
}

// tuned prints the body of a tuned kernel:
//
//	symbol s0 in [1, 64]          the sizes mentioned that are no parameters
//	params m=n0, n=4, k=8
//	operands 0, 2
//	packed w = lin_weight from 1  a constant of the program, or its data
//	channels 1, 4 run             tuned.Channels' Inner and Count, RunChannels
//	scratch 1024
//	tile 6, 16 vector
//	macs 32*s0
//	cost 2048
//	epilogue f32(acc: f32, o in [0, 4*s0 - 1], c in [0, 3], x0: f32) = max(acc + x0[c], 0.0)
func (pr *printer) tuned(in *tuned.Instance) {
	pr.foreign(in)
	params := make([]string, len(in.Params))
	for i, p := range in.Params {
		params[i] = p.Name + "=" + pr.index(p.Value)
	}
	if len(params) > 0 {
		pr.line(nil, "params %s", strings.Join(params, ", "))
	}
	if len(in.Operands) > 0 {
		pr.line(nil, "operands %s", intList(in.Operands))
	}
	for _, p := range in.Packed {
		from := ""
		if len(p.From) > 0 {
			from = " from " + intList(p.From)
		}
		pr.line(nil, "packed %s = %s%s", p.Name, pr.packed(p), from)
	}
	run := ""
	if in.RunChannels {
		run = " run"
	}
	pr.line(nil, "channels %s, %s%s", pr.index(in.Channels.Inner), pr.index(in.Channels.Count), run)
	if !in.Scratch.IsZero() {
		pr.line(nil, "scratch %s", pr.index(in.Scratch))
	}
	vector := ""
	if in.Tile.Vector {
		vector = " vector"
	}
	pr.line(nil, "tile %d, %d%s", in.Tile.Rows, in.Tile.Cols, vector)
	pr.line(nil, "macs %s", pr.index(in.MACs))
	pr.line(nil, "cost %s", strconv.FormatFloat(in.Cost, 'g', -1, 64))
	if in.Epilogue != nil {
		pr.epilogue(in.Epilogue)
	}
}

// foreign declares the symbols of the methods that call in.
func (pr *printer) foreign(in *tuned.Instance) {
	list := []sym.Expr{in.Channels.Inner, in.Channels.Count, in.Scratch, in.MACs}
	own := map[*sym.Symbol]bool{}
	if ep := in.Epilogue; ep != nil {
		list = append(list, ep.O.Lo, ep.O.Hi, ep.C.Lo, ep.C.Hi)
		own[ep.O], own[ep.C] = true, true
	}
	for _, p := range in.Params {
		list = append(list, p.Value)
	}
	var declare func(sym.Expr)
	declare = func(e sym.Expr) {
		for _, s := range e.Symbols() {
			if own[s] || pr.symbols.Has(s) {
				continue
			}
			declare(s.Lo)
			declare(s.Hi)
			pr.line(nil, "symbol %s in %s", pr.symbols.Declare(s, s.Name),
				text.Range(s, pr.symbols))
		}
	}
	for _, e := range list {
		declare(e)
	}
}

func intList(xs []int) string {
	list := make([]string, len(xs))
	for i, x := range xs {
		list[i] = strconv.Itoa(x)
	}
	return strings.Join(list, ", ")
}

// packed names the constant of the program that has p's data.
func (pr *printer) packed(p tuned.Packed) string {
	if p.Data == nil {
		return "later " + p.DType.Short()
	}
	for _, c := range pr.constants {
		if c.DType == p.DType && bytes.Equal(c.Data, p.Data) {
			return c.Name
		}
	}
	return p.DType.Short() + " " + ir.DataString(p.DType, p.Data)
}

func (pr *printer) epilogue(ep *tuned.Epilogue) {
	pr.symbols.Open()
	defer pr.symbols.Close()
	values := text.NewNames[*expr.Var]()
	acc := values.Declare(ep.Acc, ep.Acc.Name)
	head := fmt.Sprintf("%s: %s", acc, ep.Acc.DType.Short())
	for _, s := range []*sym.Symbol{ep.O, ep.C} {
		bounds := text.Range(s, pr.symbols)
		head += fmt.Sprintf(", %s in %s", pr.symbols.Declare(s, s.Name), bounds)
	}
	extra := func(k int) string { return fmt.Sprintf("x%d", k) }
	for i, d := range ep.Extra {
		head += fmt.Sprintf(", %s: %s", extra(i), d.Short())
	}
	body := ep.Body.Format(expr.Names{
		Operand: extra,
		Scalar:  func(k int) string { return fmt.Sprintf("scalar_%d", k) }, // there are none
		Local:   func(v *expr.Var) string { return values.Of(v, v.Name) },
		Index:   pr.index,
	}, true)
	pr.line(nil, "epilogue %s(%s) = %s", ep.DType.Short(), head, body)
}
