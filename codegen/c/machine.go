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
