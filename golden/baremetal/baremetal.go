// Package baremetal builds generated C packages for microcontrollers and runs
// them in an emulator, QEMU: on the mps2-an386 board, a Cortex-M4 with 4 MB flash,
// 4 MB RAM and 16 MB more RAM where the test's own data lies, or on another
// [Board].
//
// Nothing is linked but the package, our start-up code and the compiler's own
// library. [Model.Execute] is the whole way from sources to outputs; [Build],
// [Run] and [Link] are its parts.
package baremetal

import (
	"context"
	"embed"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/etgen/etgen/golden/toolchain"
)

//go:embed support
var support embed.FS

// FaultExit is the exit code of a program that ran into a processor fault. What
// faulted and where is in its output, in lines that start with "fault".
const FaultExit = 70

// harnessPrefix starts the names of the sections that hold what belongs to the
// test and not to the program under test.
const harnessPrefix = ".harness"

// Build links sources (a generated package: .c and .S) and the C text of a main
// program into dir/program.elf, which [Run] runs. The target is a Cortex-M; the
// board's core runs the code of smaller ones too. The main program defines
// harness_main and may use what support/harness_support.h declares.
func Build(ctx context.Context, target toolchain.Target, dir string, sources []string,
	main string) (elf string, err error) {
	return CortexM4.Build(ctx, target, dir, sources, main)
}

// Build is the function of that name for a board.
func (b Board) Build(ctx context.Context, target toolchain.Target, dir string, sources []string,
	main string) (elf string, err error) {
	mainFile := filepath.Join(dir, "harness_main.c")
	if err := os.WriteFile(mainFile, []byte(main), 0o644); err != nil {
		return "", err
	}
	own, err := writeSupport(dir, append(b.start, "mem.c", "harness_support.c")...)
	if err != nil {
		return "", err
	}
	if _, err := writeSupport(dir, "harness_support.h", "sections.ld", b.memory); err != nil {
		return "", err
	}
	objects, err := target.Compile(ctx, dir, sources...)
	if err != nil {
		return "", err
	}
	// The main program includes the package's header, so it sees its folders.
	harness := ownCode(target)
	for _, source := range sources {
		folder, err := filepath.Abs(filepath.Dir(source))
		if err != nil {
			return "", err
		}
		harness = harness.With("-I" + folder)
	}
	more, err := harness.Compile(ctx, dir, append(own, mainFile)...)
	if err != nil {
		return "", err
	}
	elf = filepath.Join(dir, "program.elf")
	return elf, target.Link(ctx, elf, slices.Concat(objects, more),
		"-L", dir, "-T", filepath.Join(dir, b.memory), "-Wl,--gc-sections", "-Wl,--fatal-warnings",
		"-Wl,--no-warn-rwx-segments")
}

// Link links sources without a main program into dir/package.elf: the entry
// functions, what they call, and nothing else. It proves that a package needs
// no library, and shows what it takes, on targets that are built and not run.
func Link(ctx context.Context, target toolchain.Target, dir string, sources []string,
	entries ...string) (elf string, err error) {
	if len(entries) == 0 {
		return "", errors.New("baremetal: no entry function to link")
	}
	own, err := writeSupport(dir, "mem.c")
	if err != nil {
		return "", err
	}
	objects, err := target.Compile(ctx, dir, sources...)
	if err != nil {
		return "", err
	}
	more, err := ownCode(target.Linking()).Compile(ctx, dir, own...)
	if err != nil {
		return "", err
	}
	flags := []string{"-Wl,--gc-sections", "-Wl,--no-undefined", "-Wl,-e," + entries[0]}
	for _, entry := range entries {
		flags = append(flags, "-Wl,--require-defined="+entry)
	}
	elf = filepath.Join(dir, "package.elf")
	return elf, target.Link(ctx, elf, slices.Concat(objects, more), flags...)
}

// Sizes are the bytes that the program under test takes of an ELF that [Build]
// or [Link] made: its code, its constants and its library functions. The
// caller's buffers, the arena among them, and the stack are not in it.
func Sizes(elf string) (toolchain.Sizes, error) {
	image, err := toolchain.ReadELF(elf)
	if err != nil {
		return toolchain.Sizes{}, err
	}
	return image.Sizes(harnessPrefix), nil
}

// DoubleHelpers names the double-precision library functions in an ELF.
func DoubleHelpers(elf string) ([]string, error) {
	image, err := toolchain.ReadELF(elf)
	if err != nil {
		return nil, err
	}
	return image.DoubleHelpers(), nil
}

// ownCode is the target for our support code: the compiler must not turn the
// loop that is memset into a call of memset.
func ownCode(target toolchain.Target) toolchain.Target {
	return target.With("-fno-tree-loop-distribute-patterns")
}

// writeSupport copies support files into dir and returns their paths.
func writeSupport(dir string, names ...string) ([]string, error) {
	paths := make([]string, len(names))
	for i, name := range names {
		text, err := support.ReadFile("support/" + name)
		if err != nil {
			return nil, err
		}
		paths[i] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[i], text, 0o644); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
