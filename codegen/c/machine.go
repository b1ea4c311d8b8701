package c

import (
	"fmt"

	"github.com/etgen/etgen/kernels/tuned"
)

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
	return fmt.Sprintf(
		"#if %s\n#error \"%s is generated for %s: compile it with gcc or clang and %s, or generate it for another --target\"\n#endif\n",
		condition, file, m.Name, m.Flag)
}

// machineMacros are the macros whose values are known when the text is written; those
// that are not defined have no value. It is nil if the compiler of the package decides.
func machineMacros(m *tuned.Machine) macros {
	if m == nil || m.Undefined == nil {
		return nil
	}
	known := macros{}
	if m.Defined != nil { // by compilers that are checked
		known["__GNUC__"] = macro{defined: true}
	}
	for _, name := range m.Defined {
		known[name] = macro{defined: true}
	}
	for _, name := range m.Undefined {
		known[name] = macro{}
	}
	return known
}
