package c

import (
	"fmt"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// vectorRounding lets gcc make vectors of what rounds and limits. Otherwise it
// makes branches of limits, whose outcome it follows through what comes after,
// and then no arithmetic that is behind one may be done for all elements, for
// fear of floating-point exceptions, which nobody looks at.
const vectorRounding = `#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math", "no-thread-jumps")
#endif
`

// wideVectors has gcc make loops of vectors as wide as those of tiles are, for it
// takes half of AVX-512 on most machines that have it. What may be lost by whole
// ones, clock, tiles have cost anyhow.
const wideVectors = `#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512")
#endif
`

// exactMath ends the compilation under options that let a compiler reckon with
// other numbers than the text has: kernels tell NaN and infinity from others, and
// round by additions that such options cancel. gcc and clang tell some of the
// options by macros of their own.
const exactMath = `#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || defined(_M_FP_FAST)
#error "%s needs exact floating-point arithmetic: compile it without -ffast-math, -Ofast or parts of them"
#endif
`

// roundEach has the compiler round each product and each sum. By default gcc and clang
// contract the two to one operation where the machine has it, and then a result that is
// rounded to an integer may be another one than in Go, in the interpreter and on other
// machines. Tiles of sums say where contraction is meant (TILE_CONTRACT, TILE_FUSED). Where
// gcc keeps to the standard of C it does not contract.
const roundEach = `#if !defined(__GNUC__) || defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif !defined(__STRICT_ANSI__) || defined(__cplusplus)
#pragma GCC optimize("fp-contract=off")
#endif
`

// source puts NAME.c together from what is printed.
func (g *gen) source() string {
	g.tunedTexts()
	w := &writer{}
	file := g.prefix + ".c"
	w.raw("/* " + g.banner(file) + " */")
	if text := machineCheck(g.opt.Machine, file); text != "" {
		w.b.WriteString(text)
		w.blank()
	}
	fmt.Fprintf(&w.b, exactMath, file)
	w.blank()
	w.raw(fmt.Sprintf("#include \"%s.h\"", g.prefix))
	if g.shared != nil {
		w.raw(fmt.Sprintf("#include \"%s.h\"", g.shared.prefix))
	}
	if g.callsCustom() && g.shared == nil {
		w.raw(fmt.Sprintf("#include \"%s_ops.h\"", g.prefix))
	}
	if len(g.p.Delegates) > 0 {
		w.raw(fmt.Sprintf("#include \"%s_delegate.h\"", g.prefix))
	}
	if g.threaded {
		w.raw(fmt.Sprintf("#include \"%s_pal.h\"", g.prefix))
	}
	if g.events != nil {
		w.raw(fmt.Sprintf("#include \"%s_profile.h\"", g.prefix))
	}
	if g.usesVectors() {
		w.raw("#include <" + vectorHeader + ">")
	}
	for _, header := range g.includes {
		w.raw("#include \"" + header + "\"")
	}
	w.blank()
	w.b.WriteString(roundEach)
	if g.rounds {
		w.blank()
		w.b.WriteString(vectorRounding)
	}
	if g.tiles && g.opt.Machine.May("__AVX512F__") {
		w.blank()
		w.b.WriteString(wideVectors)
	}
	g.languageMacros(w)
	g.sectionMacro(w, codegen.CodeSection)
	g.sectionMacro(w, codegen.TablesSection)
	if len(g.macroOrder) > 0 {
		w.blank()
		for _, m := range g.macroOrder {
			w.raw("#define " + m + " " + g.macros[m])
		}
	}
	g.weightDeclarations(w)
	g.delegateDefinitions(w)
	for _, t := range g.support.texts {
		if t != "" {
			w.blank()
			w.b.WriteString(t)
		}
	}
	w.b.WriteString(g.kernelText.b.String())
	if g.paramsText.b.Len() > 0 {
		w.blank()
		w.b.WriteString(g.paramsText.b.String())
	}
	w.b.WriteString(g.methodText.b.String())
	return g.placed(w.b.String())
}

// languageMacros lets C++ read what only C has.
func (g *gen) languageMacros(w *writer) {
	if g.restricts {
		w.blank()
		w.raw("#ifdef __cplusplus")
		w.raw("#define restrict __restrict")
		w.raw("#endif")
	}
}

// weightDeclarations makes the constants known to NAME.c under their names.
func (g *gen) weightDeclarations(w *writer) {
	if len(g.weights.Consts) == 0 {
		return
	}
	w.blank()
	switch g.weightForm() {
	case codegen.WeightsC:
		w.raw(fmt.Sprintf("/* Weights, in %s_weights.c. */", g.prefix))
	case codegen.WeightsAsm:
		w.raw(fmt.Sprintf("/* Weights, little-endian, in %s_weights.bin. */", g.prefix))
	default:
		g.weightAddresses(w)
		return
	}
	for _, c := range g.weights.Consts {
		w.raw("extern " + g.weightArray(c.Const) + ";")
	}
}

// stateFields names the members of the state struct.
func (g *gen) stateFields() {
	scope := codegen.NewScope(g.names)
	for _, b := range g.p.State {
		g.fields[b] = scope.Take(b.Name)
	}
}

// stateAlign is the alignment of the state struct.
func (g *gen) stateAlign() int {
	align := 1
	for _, b := range g.p.State {
		align = max(align, b.DType.Size())
	}
	return align
}

func (g *gen) stateStruct(w *writer) {
	w.raw(fmt.Sprintf(
		"/* What the model remembers between calls. %s_reset gives it its first value. */",
		g.prefix))
	var rows []row
	for _, b := range g.p.State {
		t := storageOf(b.DType)
		rows = append(rows, row{fmt.Sprintf("%s %s[%d];", t, g.fields[b], max(1, b.MaxLen)),
			b.DType.String() + " " + codegen.ShapeText(b.Sizes, nil)})
	}
	structure(w, g.prefix+"_state", rows)
	w.blank()
	w.raw(fmt.Sprintf("void %s_reset(%s_state *state);", g.prefix, g.prefix))
}

// reset prints the function that gives the state its first value.
func (g *gen) reset() {
	name := g.prefix + "_reset"
	var parts []string
	alike := codegen.Alike(g.opt.FunctionWeight)
	for i := 0; len(g.p.State) > alike && i < len(g.p.State); i += alike {
		part := g.names.TakeAround(fmt.Sprintf("%s_%d", name, len(parts)+2))
		g.resetFunction(g.noInline()+" static void", part, func() {
			g.resetStates(g.p.State[i:min(i+alike, len(g.p.State))])
		})
		parts = append(parts, part)
	}
	g.resetFunction("void", name, func() {
		w := &g.methodText
		w.open("if (state == NULL) {")
		w.line("return;")
		w.close()
		if parts == nil {
			g.resetStates(g.p.State)
		}
		for _, part := range parts {
			w.line("%s(state);", part)
		}
	})
}

// resetFunction prints a function of the state.
func (g *gen) resetFunction(head, name string, body func()) {
	w := &g.methodText
	w.blank()
	w.raw(fmt.Sprintf("%s %s(%s_state *state)", head, name, g.prefix))
	w.raw("{")
	w.indent++
	body()
	w.close()
}

// resetStates prints what gives some states their first value.
func (g *gen) resetStates(states []*native.Buffer) {
	w := &g.methodText
	for _, b := range states {
		if b.MaxLen == 0 {
			continue
		}
		field := "state->" + g.fields[b]
		value, uniform := codegen.Uniform(b.Const)
		switch {
		case uniform && b.MaxLen == 1:
			w.line("%s[0] = %s;", field, elementText(value, b.DType))
		case uniform:
			w.open("for (%s i = 0; i < %d; i++) {", g.idx, b.MaxLen)
			w.line("%s[i] = %s;", field, elementText(value, b.DType))
			w.close()
		default:
			w.open("for (%s i = 0; i < %d; i++) {", g.idx, b.MaxLen)
			w.line("%s[i] = %s[i];", field, g.consts[b.Const])
			w.close()
		}
	}
}

// machineCheck is C text that ends the compilation for another machine than m; none if m's
// package is the same text as any other's.
func machineCheck(m *tuned.Machine, file string) string {
	if m == nil || m.Defined == nil {
		return ""
	}
	condition := "!defined(__GNUC__)"
	for _, macro := range m.Defined {
		condition += " || !defined(" + macro + ")"
	}
	if m.MVE { // of floats, too
		condition += " || (__ARM_FEATURE_MVE & 2) == 0"
	}
	return fmt.Sprintf(
		"#if %s\n#error \"%s is generated for %s: compile it with gcc or clang and %s, "+
			"or generate it for another --target\"\n#endif\n",
		condition, file, m.Name, m.Flag)
}
