package c

import "fmt"

// machine is a processor that a package is written for, of those whose compilers
// tell what they compile for by macros.
type machine struct {
	flag   string   // what makes a compiler compile for it
	needs  []string // macros that are then defined
	absent []string // macros of other machines, whose code is left out
}

// machineOf returns the machine called name, nil if that is none, or one whose
// package is the same text as any other's.
func machineOf(name string) *machine {
	arm := []string{"__aarch64__", "__ARM_NEON", "__ARM_FP", "__ARM_FEATURE_FMA", "__riscv_flen"}
	x86 := []string{"__SSE__", "__SSE2__", "__AVX__", "__AVX2__", "__FMA__"}
	switch name {
	case "x86-64-v3":
		return &machine{flag: "-march=x86-64-v3", needs: x86, absent: append(arm, "__AVX512F__")}
	case "x86-64-v4":
		return &machine{flag: "-march=x86-64-v4", needs: append(x86, "__AVX512F__"), absent: arm}
	case "neon":
		return &machine{flag: "-march=armv8-a", needs: []string{"__aarch64__", "__ARM_NEON"},
			absent: append(x86, "__AVX512F__", "__riscv_flen")}
	}
	return nil
}

// check is C text that ends the compilation for another machine.
func (m *machine) check(file, name string) string {
	condition := "!defined(__GNUC__)"
	for _, macro := range m.needs {
		condition += " || !defined(" + macro + ")"
	}
	return fmt.Sprintf(
		"#if %s\n#error \"%s is generated for %s: compile it with gcc or clang and %s, or generate it for another --target\"\n#endif\n",
		condition, file, name, m.flag)
}

// known are the macros whose values are known when the text is written; those
// that are not defined have no value.
func (m *machine) known() macros {
	known := macros{"__GNUC__": {defined: true}}
	for _, name := range m.needs {
		known[name] = macro{defined: true}
	}
	for _, name := range m.absent {
		known[name] = macro{}
	}
	return known
}
