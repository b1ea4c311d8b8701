package c

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// The parameters of a function that does a part: which of how many.
const (
	partName  = "part"
	partsName = "parts"
)

// own is a buffer of which each part has so many elements of its own.
type own struct {
	name string
	size int64
}

// ofPart returns what is added to a pointer to get a part's own memory.
func ofPart(name string, owns []own) string {
	for _, o := range owns {
		if o.name == name {
			return fmt.Sprintf(" + %s * %d", partName, o.size)
		}
	}
	return ""
}

// divides reports whether k is done in parts.
func (g *gen) divides(k *native.Kernel) bool { return g.opt.Threads > 1 && k.Divided() }

// share is a part's share of a number of iterations: the first, and the end.
type share struct{ first, end string }

// shares declares what of the iterations of divided loops a part does, by their
// number.
func (p *printer) shares(body []loop.Stmt) map[string]share {
	shares := map[string]share{}
	at := p.g.idx
	for _, n := range native.Shared(body) {
		s := share{p.scope.Take("first"), p.scope.Take("end")}
		of := p.index(n).at(precMul)
		first, end := of+" * "+partName+" / "+partsName, of+" * ("+partName+" + 1) / "+partsName
		if _, most := n.Bounds(); at == tI32 && most > math.MaxInt32/int64(p.g.opt.Threads) {
			first, end = fmt.Sprintf("(%s)((int64_t)%s)", at, first),
				fmt.Sprintf("(%s)((int64_t)%s)", at, end)
		}
		p.w.line("const %s %s = %s, %s = %s;", at, s.first, first, s.end, end)
		shares[n.Key()] = s
	}
	return shares
}

// phase is a step of a kernel that is done in parts: its text, and the names in
// it.
type phase struct {
	name, body string
	used       map[string]bool
}

// parts prints a kernel whose phases are done in parts: a function for each
// phase that does one part, and the kernel itself, which has the application run
// them.
func (g *gen) parts(name, head string, phases []phase, params []parameter, owns ...own) {
	w := &g.kernelText
	at := g.idx.String()
	arguments := g.names.TakeAround(name + "_arguments")
	w.raw("typedef struct {")
	for _, p := range params {
		typ := p.typ
		if bare, ok := strings.CutSuffix(typ, restricted); ok {
			typ = bare + "*"
		}
		w.line("    %s%s;", typ, p.name)
	}
	w.raw("} " + arguments + ";")
	var parts []string
	for _, ph := range phases {
		function := g.names.TakeAround(name + "_" + ph.name)
		var own []parameter
		var given []string
		for _, p := range params {
			if ph.used[p.name] {
				own, given = append(own, p), append(given, "a->"+p.name+ofPart(p.name, owns))
			}
		}
		own = append(own, parameter{typ: at + " ", name: partName}, parameter{typ: at + " ",
			name: partsName})
		w.blank()
		w.line("%s %s(%s)", head, function, paramList(own))
		w.raw(strings.Trim(ph.body, "\n"))
		w.blank()
		part := g.names.TakeAround(function + "_part")
		parts = append(parts, part)
		w.line("static void %s(void *arguments, int32_t part)", part)
		w.raw("{")
		w.line("    const %s *const a = (const %s *)arguments;", arguments, arguments)
		w.line("    %s(%s);", function, strings.Join(append(given, "part", g.upper+"_THREADS"),
			", "))
		w.raw("}")
	}
	w.blank()
	w.line("%s", g.kernelHead("static void", name, params))
	w.raw("{")
	w.line("    %s a;", arguments)
	for _, p := range params {
		w.line("    a.%s = %s;", p.name, p.name)
	}
	for _, part := range parts {
		w.line("    %s_parallel_for(%s, &a, %s_THREADS);", g.prefix, part, g.upper)
	}
	w.raw("}")
	g.threaded = true
}

// platform is NAME_pal.h: what the application provides.
func (g *gen) platform() string {
	guard := g.upper + "_PAL_H"
	return fmt.Sprintf(`/* %s */
#ifndef %s
#define %s

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define %s_THREADS %d

/*
 * Calls body(arguments, part) for every part from 0 to parts - 1, in any order or
 * at the same time, and returns when all calls have. The application defines it:
 * with a thread for each part, or in a loop. Results are the same to the bit.
 */
void %s_parallel_for(void (*body)(void *arguments, int32_t part), void *arguments, int32_t parts);

#ifdef __cplusplus
}
#endif

#endif
`, g.banner(g.prefix+"_pal.h"), guard, guard, g.upper, g.opt.Threads, g.prefix)
}
