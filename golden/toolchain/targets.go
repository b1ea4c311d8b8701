package toolchain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etgen/etgen/kernels/tuned"
)

// Target is a compiler together with the flags of one machine. It is a value:
// [Target.With] makes variants.
type Target struct {
	Name     string   // for messages and test names: "gcc", "cortex-m4"
	Compiler string   // command, looked up with [Find]
	Flags    []string // given to every compilation and to the link
	Libs     []string // given at the end of the link
	// Linker is the command that links, "" if it is Compiler: then Compiler takes CompileFlags
	// behind Flags, and Linker does not.
	Linker       string
	CompileFlags []string
	Emulator     []string // command before that of a program, where this machine cannot run it
}

// Command returns the command that runs the program exe.
func (t Target) Command(exe string) []string { return append(slices.Clone(t.Emulator), exe) }

// Linking is the target with what links as its compiler.
func (t Target) Linking() Target {
	t.Compiler, t.Linker, t.CompileFlags = cmp.Or(t.Linker, t.Compiler), "", nil
	return t
}

// With returns the target with more flags.
func (t Target) With(flags ...string) Target {
	t.Flags = slices.Concat(t.Flags, flags)
	return t
}

// Named returns the target under another name.
func (t Target) Named(name string) Target {
	t.Name = name
	return t
}

// StrictC99 is the language and the warnings under which generated C must be
// silent.
func StrictC99() []string {
	return []string{"-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"}
}

// StrictCXX is what generated C must be silent under as C++.
func StrictCXX() []string {
	return []string{"-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"}
}

// Sanitizers makes every out-of-bounds access and undefined behaviour end the
// program with an error. For the target [GCC] only. Nothing is optimised: then no access
// is left out before it is seen, and it compiles in half the time of -Og.
func Sanitizers() []string {
	return []string{"-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-fno-omit-frame-pointer"}
}

// GCC is the host's gcc, strict C99, -O2.
func GCC() Target {
	return Target{Name: "gcc", Compiler: "gcc", Flags: append(StrictC99(), "-O2"),
		Libs: []string{"-lm"}}
}

// Clang is the host's clang, strict C99, -O2.
func Clang() Target {
	return Target{Name: "clang", Compiler: "clang", Flags: append(StrictC99(), "-O2"),
		Libs: []string{"-lm"}}
}

// GXX is the host's gcc reading C sources as C++.
func GXX() Target {
	return Target{Name: "g++", Compiler: "g++", Flags: append(StrictCXX(), "-O2"),
		Libs: []string{"-lm"}}
}

// ClangXX is the host's clang reading C sources as C++.
func ClangXX() Target {
	// Clang deprecates a .c file as C++ input; that is the point here.
	flags := append(StrictCXX(), "-Wno-deprecated", "-O2")
	return Target{Name: "clang++", Compiler: "clang++", Flags: flags, Libs: []string{"-lm"}}
}

// NEON is a 64-bit Arm machine, emulated.
func NEON() Target {
	return Target{Name: "neon", Compiler: "aarch64-linux-gnu-gcc", Flags: append(StrictC99(), "-O2",
		"-static"), Libs: []string{"-lm"},
		Emulator: []string{"qemu-aarch64"}}
}

// Hosts are the targets whose programs this machine can run, itself or
// emulated; those of another processor than this one's family fail to build.
func Hosts() []Target {
	optimised := GCC().With("-O3")
	return []Target{
		GCC(), Clang(), optimised.With("-march=native").Named("native"),
		optimised.With("-march=x86-64-v3").Named("x86-64-v3"),
		optimised.With("-march=x86-64-v4").Named("x86-64-v4"), NEON(),
	}
}

// GoMachine is where programs in Go run. The zero value is this machine.
type GoMachine struct {
	Env      []string // of the go command
	Emulator []string // command before that of a program
}

// Command returns the command that runs the program exe.
func (m GoMachine) Command(exe string) []string { return append(slices.Clone(m.Emulator), exe) }

// GoHost returns the machine for Go that has the vectors of the host of that
// name, and no wider ones: a program in Go chooses its assembly by what it finds.
func GoHost(name string) GoMachine {
	switch name {
	case "neon":
		return GoMachine{Env: []string{"GOARCH=arm64"}, Emulator: NEON().Emulator}
	case "x86-64-v3":
		return GoMachine{Env: []string{"GOARCH=amd64"}, Emulator: []string{"qemu-x86_64", "-cpu",
			"Haswell"}}
	}
	return GoMachine{}
}

// CortexM4 is a Cortex-M4 with a single-precision FPU, freestanding.
func CortexM4() Target {
	return freestanding("cortex-m4", "arm-none-eabi-gcc",
		"-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
}

// CortexM0 is a Cortex-M0: no FPU, no unaligned access, ARMv6-M instructions.
func CortexM0() Target {
	return freestanding("cortex-m0", "arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb",
		"-mfloat-abi=soft")
}

// CortexM0Plus is a Cortex-M0+, which has the same instructions.
func CortexM0Plus() Target { return CortexM0().With("-mcpu=cortex-m0plus") }

// CortexM3 is a Cortex-M3: no FPU, no instructions for pairs.
func CortexM3() Target {
	return freestanding("cortex-m3", "arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb",
		"-mfloat-abi=soft")
}

// CortexM7 is a Cortex-M7 with an FPU, freestanding.
func CortexM7() Target {
	return freestanding("cortex-m7", "arm-none-eabi-gcc",
		"-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
}

// CortexM33 is a Cortex-M33 with a single-precision FPU, freestanding.
func CortexM33() Target {
	return freestanding("cortex-m33", "arm-none-eabi-gcc",
		"-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")
}

// CortexM55 is a Cortex-M55 with its vectors, freestanding.
func CortexM55() Target {
	return freestanding("cortex-m55", "arm-none-eabi-gcc",
		"-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard")
}

// RISCV32 is a 32-bit RISC-V microcontroller without FPU.
func RISCV32() Target {
	return freestanding("riscv32", "riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32",
		"-mcmodel=medany")
}

// Machine is the GNU compiler for a row of the table of targets, freestanding.
func Machine(m *tuned.Machine) Target {
	flags := append(strings.Fields(m.Flag), m.CompilerFlags...)
	if !m.Microcontroller {
		flags = append(flags, "-static", "-fno-pie", "-no-pie", "-fno-stack-protector",
			"-fno-asynchronous-unwind-tables")
	}
	return freestanding(m.Name, cmp.Or(m.Compiler, GCC().Compiler), flags...)
}

// freestanding has no library but the compiler's own. Sections per function and
// per object let the link drop what nobody calls; double promotion is a warning
// because a double operation is a library call on all these machines.
func freestanding(name, compiler string, machine ...string) Target {
	return Target{
		Name:     name,
		Compiler: compiler,
		Flags: slices.Concat(machine, StrictC99(), []string{
			"-Wdouble-promotion", "-O2", "-ffreestanding", "-nostdlib",
			"-ffunction-sections", "-fdata-sections",
		}),
		Libs: []string{"-lgcc"},
	}
}
