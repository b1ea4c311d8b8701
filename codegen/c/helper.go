package c

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	ctext "github.com/etgen/etgen/templates/c"
	"github.com/etgen/etgen/templates/expand"
)

// helperNames are the helper functions' names, by template, given the short
// names of their dtypes.
var helperNames = map[string]string{
	"min": "min_%s", "max": "max_%s", "abs": "abs_%s", "div": "div_%s", "rem": "rem_%s",
	"floor_div": "floor_div_%s", "floor_mod": "floor_mod_%s",
	"trunc": "trunc_%s", "floor": "floor_%s", "ceil": "ceil_%s", "round": "round_%s",
	"minus": "minus_%s", "round_small": "round_small_%s", "nearest": "nearest_%s",
	"rounded_bits": "rounded_bits_%s", "saturate": "saturate_i8", "number": "number_%s",
	"sqrt": "sqrt_%s", "fma": "fma_%s", "bits": "%s_bits", "from_bits": "%s_from_bits",
	"widen": "%s_to_f32", "narrow": "f32_to_%s", "to_int": "%s_to_%s",
	"aligned": "aligned", "poison": "poison", "unsigned": "i32_to_u32",
}

// helperWords returns the names that helper functions may have.
func (g *gen) helperWords() []string {
	var words []string
	for _, format := range helperNames {
		for a := ir.Bool; a.Size() > 0; a++ {
			switch strings.Count(format, "%s") {
			case 0:
				words = append(words, g.prefix+"_"+format)
			case 1:
				words = append(words, g.prefix+"_"+fmt.Sprintf(format, a.Short()))
			case 2:
				for b := ir.Bool; b.Size() > 0; b++ {
					words = append(words,
						g.prefix+"_"+fmt.Sprintf(format, a.Short(), b.Short()))
				}
			}
		}
	}
	return words
}

// support is the functions that the package's code calls and that are emitted
// only then: each after those it calls itself.
type support struct {
	names map[string]string // C names, by template and dtypes, or by function
	taken map[string]string // those of helpers, also of texts that were taken away
	texts []string
	tuned []tunedHelper // those of texts that are templates of tuned kernels
}

// mark returns a function that takes away what is added from now on.
func (s *support) mark() (undo func()) {
	names, texts := maps.Clone(s.names), len(s.texts)
	return func() { s.names, s.texts = names, s.texts[:texts] }
}

// tunedHelper is such a template: the place of its text, and what it is executed with.
type tunedHelper struct {
	at   int
	name string
	k    *ctext.Kernel
}

func (g *gen) loadSupport() {
	g.support = support{names: map[string]string{}, taken: map[string]string{}}
}

// helper returns the name of a helper function for dtypes, which from now on is
// part of the package.
func (g *gen) helper(tmpl string, dtypes ...ir.DType) string {
	data := helperData{}
	var shorts []any
	for i, d := range dtypes {
		t := typeInfoOf(d)
		if i == 0 {
			data.T = t
		} else {
			data.V = t
		}
		shorts = append(shorts, t.Short)
	}
	name := fmt.Sprintf(helperNames[tmpl], shorts...)
	if c, ok := g.support.names[name]; ok {
		return c
	}
	if data.Name = g.support.taken[name]; data.Name == "" {
		data.Name = g.names.Take(g.prefix + "_" + name) // no local has it: see helperWords
		g.support.taken[name] = data.Name
	}
	g.support.names[name] = data.Name
	m := g.opt.Machine
	text := must.Get(ctext.Helpers().Execute(tmpl, data, expand.Functions{"use": g.use, "may": m.May,
		"has": m.Has, "minus": g.minusText, "once": g.noCopies}))
	g.support.texts = append(g.support.texts, strings.TrimSpace(text)+"\n")
	return data.Name
}

// annotation returns the name of a macro that says something to some compilers.
func (g *gen) annotation(word, comment, compilers, text string) string {
	if name, ok := g.support.names[word]; ok {
		return name
	}
	name := g.names.TakeAround(g.upper + "_" + word)
	g.support.names[word] = name
	g.support.texts = append(g.support.texts, fmt.Sprintf(`/* %s */
#if %s
#define %[3]s %[4]s
#else
#define %[3]s
#endif
`, comment, compilers, name, text))
	return name
}

// rolled returns the macro that stands before a loop that is not to be unrolled
// before the compiler has made vectors of it.
func (g *gen) rolled() string {
	return g.annotation("ROLLED",
		"A short loop for vectors: gcc would unroll it first, and then find none.",
		"defined(__GNUC__) && !defined(__clang__)", `_Pragma("GCC unroll 1")`)
}

// noInline returns what stands before a function that is not to be put where it is
// called.
func (g *gen) noInline() string {
	return g.annotation("NOINLINE", "In one large function a compiler takes its time.",
		"defined(__GNUC__)", "__attribute__((noinline))")
}

// noCopies returns what stands before a function that is there once.
func (g *gen) noCopies() string {
	return g.annotation("NOCOPIES", "Copies of it would be no quicker.",
		"defined(__GNUC__) && !defined(__clang__)", "__attribute__((noinline, noclone))")
}

// minusText is a difference for templates.
func (g *gen) minusText(t typeInfo, x, y string) (string, error) {
	if !g.opt.Machine.Differs() {
		return x + " - " + y, nil
	}
	name, err := g.use("minus", t)
	return name + "(" + x + ", " + y + ")", err
}

// use is helper for templates: dtypes are typeInfos or short names.
func (g *gen) use(tmpl string, types ...any) (string, error) {
	var dtypes []ir.DType
	for _, t := range types {
		short := fmt.Sprint(t)
		if ti, ok := t.(typeInfo); ok {
			short = ti.Short
		}
		d, ok := ir.ParseDType(short)
		if !ok {
			return "", fmt.Errorf("helper %s: no dtype %s", tmpl, short)
		}
		dtypes = append(dtypes, d)
	}
	return g.helper(tmpl, dtypes...), nil
}

// helperData is what a helper's template sees.
type helperData struct {
	Name string
	T, V typeInfo
}

// typeInfo describes a dtype to templates. Constants are C text.
type typeInfo struct {
	Name, Short string // PyTorch's names
	C           string // its C type
	U, I        string // unsigned and signed type arithmetic on its bits is done in
	Bits        int
	Signed      bool
	Float       bool
	Min, Top    string // smallest value; one over the largest, as a float without suffix

	// Floats.
	Suffix                                  string // of literals
	Zero, One, Half, Big                    string // Big: from where on all numbers are integers
	Mantissa, Bias, SignBit                 int
	Magnitude, Infinity, Implicit, Fraction string // masks

	// Narrow floats.
	Inf, Fnuz         bool
	ExpMask           string
	NaN, Max, InfBits string
	Shift, Rebias     int // to float32's mantissa and bias
	MinExp            int
	Unit              string // smallest subnormal
	_                 struct{}
}

func typeInfoOf(d ir.DType) typeInfo {
	t := typeOf(d)
	info := typeInfo{Name: d.String(), Short: d.Short(), C: t.String(), U: unsigned(d).String(),
		I: "int32_t", Bits: 8 * d.Size(), Signed: t.isSigned(), Float: d.IsFloat()}
	if d.Size() == 8 {
		info.I = "int64_t"
	}
	switch {
	case d.IsInt():
		top := math.Ldexp(1, info.Bits)
		info.Min = "0"
		if info.Signed {
			top /= 2
			info.Min = fmt.Sprintf("INT%d_MIN", info.Bits)
		}
		info.Top = floatText(top, tF64)
		if !strings.Contains(info.Top, ".") {
			info.Top = fmt.Sprintf("%.1f", top)
		}
	case expr.IsNarrow(d):
		info.narrow(d)
	case d.IsFloat():
		info.wide(t)
	}
	return info
}

func (info *typeInfo) wide(t ctype) {
	info.Mantissa, info.Bias, info.SignBit = 52, 1023, 63
	if t == tF32 {
		info.Suffix = "f"
		info.Mantissa, info.Bias, info.SignBit = 23, 127, 31
	}
	text := func(x float64) string {
		if x > 1 {
			return fmt.Sprintf("%.1f", x) + info.Suffix
		}
		return floatText(x, t)
	}
	info.Zero, info.One, info.Half = text(0), text(1), text(0.5)
	info.Big = text(math.Ldexp(1, info.Mantissa))
	hex := func(x uint64) string { return hexLiteral(x, info.Bits/8) }
	info.Implicit = hex(1 << info.Mantissa)
	info.Fraction = hex(1<<info.Mantissa - 1)
	info.Magnitude = hex(1<<info.SignBit - 1)
	info.Infinity = hex(uint64(2*info.Bias+1) << info.Mantissa)
}

// narrow fills in the layout of a narrow float. Float8E8M0FNU needs none of it.
func (info *typeInfo) narrow(d ir.DType) {
	f, ok := half.FormatOf(d)
	if !ok {
		return
	}
	exp, man := int(f.Exp), int(f.Man)
	info.Inf, info.Fnuz = f.Inf, f.Fnuz
	hex := func(x int) string { return hexLiteral(uint64(x), d.Size()) + "u" }
	info.Mantissa, info.Bias, info.SignBit = man, f.Bias, exp+man
	info.ExpMask, info.Fraction, info.Magnitude = hex(1<<exp-1), hex(1<<man-1), hex(1<<(exp+man)-1)
	info.NaN, info.Max, info.InfBits = hex(int(f.NaN)), hex(int(f.Max)), hex(int(f.Max)+1)
	info.Shift, info.Rebias, info.MinExp = 23-man, 127-f.Bias, 1-f.Bias
	info.Unit = floatText(math.Ldexp(1, 1-f.Bias-man), tF32)
}
