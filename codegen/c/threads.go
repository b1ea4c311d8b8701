package c

import (
	"fmt"
	"strings"
)

// parts prints a kernel whose phases are done in parts: a function for each
// phase that does one part, and the kernel itself, which has the application run
// them.
func (g *gen) parts(name, head string, phases, bodies, decls, args []string) {
	w := &g.kernelText
	at := g.idx.String()
	arguments := g.names.Take(name + "_arguments")
	w.raw("typedef struct {")
	for _, d := range decls {
		w.line("    %s;", strings.Replace(d, "*restrict ", "*", 1))
	}
	w.raw("} " + arguments + ";")
	var parts []string
	for i, body := range bodies {
		phase := g.names.Take(name + "_" + phases[i])
		var own, given []string
		for k, d := range decls {
			if mentions(body, args[k]) {
				own, given = append(own, d), append(given, "a->"+args[k])
			}
		}
		w.blank()
		w.line("%s %s(%s)", head, phase, paramList(append(own, at+" part", at+" parts")))
		w.raw(strings.Trim(body, "\n"))
		w.blank()
		part := g.names.Take(phase + "_part")
		parts = append(parts, part)
		w.line("static void %s(void *arguments, int32_t part)", part)
		w.raw("{")
		w.line("    const %s *const a = (const %s *)arguments;", arguments, arguments)
		w.line("    %s(%s);", phase, strings.Join(append(given, "part", g.upper+"_THREADS"), ", "))
		w.raw("}")
	}
	w.blank()
	w.line("static void %s(%s)", name, paramList(decls))
	w.raw("{")
	w.line("    %s a;", arguments)
	for _, arg := range args {
		w.line("    a.%s = %s;", arg, arg)
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
