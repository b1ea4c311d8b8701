package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

// The arena: one, or with Program.Banks one in each bank, which a struct of the caller's
// points to.

const (
	arenaParam  = "arena"
	arenasParam = "arenas"
	arenaBase   = "mem" // the arena as bytes
)

// checkBanks returns an error if banks cannot be members of a struct of C.
func checkBanks(p *native.Program) error {
	for _, b := range p.Banks {
		if codegen.Identifier(b.Name) != b.Name || keywords()[b.Name] || reserved()[b.Name] {
			return fmt.Errorf("a bank of memory cannot be called %q: it has to be a member of a struct in C",
				b.Name)
		}
	}
	return nil
}

// bankMacro is the macro of how large the arena in a bank is.
func (g *gen) bankMacro(bank int) string {
	if g.p.Banks == nil {
		return g.upper + "_ARENA_SIZE"
	}
	return g.upper + "_ARENA_" + strings.ToUpper(g.p.Banks[bank].Name) + "_SIZE"
}

// arenaMacros defines them; text says what the caller has to do with the bytes.
func (g *gen) arenaMacros(text string) string {
	var lines []string
	for k, n := range codegen.BankBytes(g.p) {
		if g.p.Banks == nil {
			for _, m := range g.methods { // those without bytes have an arena too
				n = max(n, m.arena)
			}
		}
		lines = append(lines, fmt.Sprintf("#define %s %du /* bytes; %s */", g.bankMacro(k), n, text))
	}
	return strings.Join(lines, "\n")
}

// arenasStruct declares what points to the arenas.
func (g *gen) arenasStruct(w *writer) {
	var members []row
	for k, n := range codegen.BankBytes(g.p) {
		if n > 0 && g.p.Banks != nil {
			members = append(members, row{"void *" + g.p.Banks[k].Name + ";",
				fmt.Sprintf("%s bytes, aligned to %s_ARENA_ALIGN", g.bankMacro(k), g.upper)})
		}
	}
	if members != nil {
		w.blank()
		w.raw("/* Where the arenas lie; what holds nothing is no member. */")
		structure(w, g.prefix+"_arenas", members)
	}
}

// arenaParameter is the parameter of a method that has the arena.
func (g *gen) arenaParameter() param {
	if g.p.Banks == nil {
		return param{decl: "void *" + arenaParam, name: arenaParam}
	}
	return param{decl: "const " + g.prefix + "_arenas *" + arenasParam, name: arenasParam}
}

// arenaRow describes it.
func (g *gen) arenaRow() row {
	if g.p.Banks == nil {
		return row{arenaParam, fmt.Sprintf("%s_ARENA_SIZE bytes, aligned to %s_ARENA_ALIGN",
			g.upper, g.upper)}
	}
	return row{arenasParam, "in   where the arenas lie"}
}

// banks are those in which the method has something.
func (m *method) banks() (list []int) {
	if m.Plan == nil {
		return nil
	}
	for k, mem := range m.Plan.Memories {
		if mem.Size > 0 {
			list = append(list, k)
		}
	}
	return list
}

// base is the local that has a bank's arena as bytes.
func (b *body) base(bank int) string {
	if b.g.p.Banks == nil {
		return arenaBase
	}
	return arenaBase + "_" + b.g.p.Banks[bank].Name
}

// giveArenas makes the arenas known to sections.
func (b *body) giveArenas() {
	if b.g.p.Banks == nil {
		b.give("char *", arenaBase)
		return
	}
	for _, k := range b.m.banks() {
		b.give("char *", b.base(k))
	}
}

// declareArenas prints the locals of base.
func (b *body) declareArenas() {
	if b.g.p.Banks == nil {
		b.declared(arenaBase, func() {
			b.w.line("char *const %s = (char *)%s;", arenaBase, arenaParam)
		})
		return
	}
	for _, k := range b.m.banks() {
		b.declared(b.base(k), func() {
			b.w.line("char *const %s = (char *)%s->%s;", b.base(k), arenasParam, b.g.p.Banks[k].Name)
		})
	}
}

// arenaTests are those of the pointers to the arenas.
func (b *body) arenaTests(p param) (tests []code) {
	align := b.g.upper + "_ARENA_ALIGN"
	if b.g.p.Banks == nil {
		return []code{b.misaligned(p, align)}
	}
	tests = append(tests, code{s: p.name + " == NULL", p: precEqual, t: tBool})
	for _, k := range b.m.banks() {
		tests = append(tests, b.misaligned(param{name: p.name + "->" + b.g.p.Banks[k].Name}, align))
	}
	return tests
}
