package c

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// paramsName is the parameter of a tuned kernel that points to its integers.
const paramsName = "params"

// mostArguments is how many parameters a function has at most, buffers and all.
const mostArguments = 8

// tunedParams are the integers of a tuned kernel that differ between its calls: the
// members of a struct, of which each call passes one.
type tunedParams struct {
	typ    string // of the struct; "" if they are parameters by themselves
	fields []paramsField
	named  map[string]string // constants, by what they hold
}

// paramsField is a member of the struct. Fields that are the same number in each call are
// one member.
type paramsField struct {
	*tuned.Field
	also []string // other fields that it stands for
	typ  string
	at   int // which field of the descriptor it is
}

// integer declares a field in the body of a kernel. Given is the parameter that it
// comes from, "" if it is a constant.
type integer struct{ name, line, given string }

// integers returns the declarations of the fields of k that its text uses, and the
// parameters that they come from: the fields themselves, or a struct if with the buffers
// they would be too many.
func (g *gen) integers(k *native.Kernel, info *kernel, used map[string]bool) (list []integer,
	given []parameter) {
	in := k.Tuned
	at := g.idx.String()
	ps := &tunedParams{named: map[string]string{}}
	info.params = ps
	ps.fields = info.fieldsOf(k, used, at)
	from := map[string]string{}
	others := len(in.Slots())
	if g.divides(k) {
		others += 2 // part and parts
	}
	if len(ps.fields) > 0 && others+len(ps.fields) > mostArguments {
		ps.typ = g.names.TakeAround(g.prefix + "_" + in.Kernel.Descriptor.Name)
		given = []parameter{{"const " + ps.typ + " *", paramsName, new(bool)}}
	}
	for _, f := range ps.fields {
		source := f.Name
		if ps.typ == "" {
			given = append(given, parameter{at + " ", f.Name, new(bool)})
		} else {
			source = paramsName + "->" + f.Name
			from[f.Name] = source
		}
		for _, name := range f.also {
			from[name] = source
		}
	}
	for _, v := range in.Params {
		line, parameter := fmt.Sprintf("const %s %s = ", at, v.Name), ""
		source, ok := from[v.Name]
		n, constant := v.Value.Const()
		switch {
		case !used[v.Name]:
			continue
		case constant:
			line += fmt.Sprint(n)
		case ok:
			line += source
			parameter, _, _ = strings.Cut(source, "->")
		default:
			continue // the parameter has its name
		}
		list = append(list, integer{v.Name, line + ";", parameter})
	}
	return list, given
}

// fieldsOf returns the fields that a kernel's text uses and that differ between calls.
func (info *kernel) fieldsOf(k *native.Kernel, used map[string]bool,
	at string) (fields []paramsField) {
	same := map[string]int{} // fields by their values
	for i, v := range k.Tuned.Params {
		if _, constant := v.Value.Const(); constant || !used[v.Name] {
			continue
		}
		values := ""
		for _, call := range info.fields {
			values += call[i].Key() + ","
		}
		if n, ok := same[values]; ok {
			fields[n].also = append(fields[n].also, v.Name)
			continue
		}
		typ := at
		if lo, hi := v.Value.Bounds(); !info.dynamic && lo >= 0 && hi <= math.MaxUint16 {
			typ = tU16.String()
		}
		same[values] = len(fields)
		fields = append(fields, paramsField{k.Tuned.Kernel.Descriptor.Fields[i], nil, typ, i})
	}
	return fields
}

// paramsType declares the struct of a kernel's integers, if it has one.
func (g *gen) paramsType(in *tuned.Instance, info *kernel) {
	if info.params.typ == "" {
		return
	}
	w := &g.kernelText
	w.blank()
	w.raw("typedef struct {")
	for _, f := range info.params.fields {
		also := ""
		if f.also != nil {
			also = "; also " + strings.Join(f.also, ", ")
		}
		w.line("    %s %s; /* %s%s */", f.typ, f.Name, f.Comment(), also)
	}
	w.raw("} " + info.params.typ + ";")
}

// initialiser returns that of a struct, in lines if it is long.
func initialiser(values []string) string {
	text, line := "", ""
	for i, v := range values {
		if i > 0 {
			v = " " + v
			line += ","
		}
		if len(line)+len(v) > 90 {
			text += "\n    " + strings.TrimSpace(line)
			line = ""
		}
		line += v
	}
	if text == "" {
		return "{ " + line + " }"
	}
	return "{" + text + "\n    " + strings.TrimSpace(line) + "\n}"
}

// params returns the arguments for the integers of a call: a constant, or a local
// variable that it declares, or the integers themselves.
func (b *body) params(c *native.Call, info *kernel) []string {
	ps := info.params
	constant := true
	var values []string
	given := c.Fields()
	for _, f := range ps.fields {
		_, known := given[f.at].Const()
		constant = constant && known
		value := b.index(given[f.at]).s
		if ps.typ != "" {
			value = "/* " + f.Name + " */ " + value
		}
		values = append(values, value)
	}
	if ps.typ == "" {
		return values
	}
	text := initialiser(values)
	if !constant {
		name := b.scope.Take(c.Kernel.Name + "_" + paramsName)
		margin := "\n" + strings.Repeat("    ", b.w.indent)
		b.w.line("const %s %s = %s;", ps.typ, name, strings.ReplaceAll(text, "\n", margin))
		return []string{"&" + name}
	}
	name, ok := ps.named[text]
	if !ok {
		name = b.g.names.TakeAround(fmt.Sprintf("%s_args_%d", info.name, len(ps.named)+1))
		ps.named[text] = name
		b.g.paramsText.raw(fmt.Sprintf("static const %s %s = %s;", ps.typ, name, text))
	}
	return []string{"&" + name}
}
