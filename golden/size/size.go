// Package size measures what generated C takes of flash, RAM and stack: a package is compiled
// and linked for its target with what it calls and nothing else, and the ELF is looked at.
//
// Folder is the door.
package size

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/tuned"
)

// Options say how a package is compiled.
type Options struct {
	Name    string         // of the package, if the folder has several
	Machine *tuned.Machine // nil: the one that the package was generated for
	// Optimize is what the package was generated for, "size" or "speed"; "" is what it says.
	Optimize string
	CC       string   // the C compiler; "" is the machine's
	CFlags   []string // behind the machine's flags; nil is -Os for code made for size, else -O3
}

// Size is what a package takes, in bytes.
type Size struct {
	Name     string   `json:"name"`
	Target   string   `json:"target"`
	Compiler string   `json:"compiler"` // with its version
	Flags    []string `json:"flags"`

	Flash  int64 `json:"flash"` // Text, ROData and the first values of Data
	Text   int64 `json:"text"`
	ROData int64 `json:"rodata"`
	Data   int64 `json:"data"`
	BSS    int64 `json:"bss"`
	Arena  int64 `json:"arena"`
	State  int64 `json:"state"`
	// RAM is Arena, State, Data and BSS: not the caller's tensors, and not the stack.
	RAM int64 `json:"ram"`
	// Stack is what calls take at most, as far as the compiler tells: functions of libraries,
	// which are in Library, come on top. It is -1 if it has no bound: see Unbounded.
	Stack     int64    `json:"stack"`
	Chain     []string `json:"stack_chain"`
	Library   []string `json:"stack_unknown,omitempty"`
	Unbounded []string `json:"stack_unbounded,omitempty"`

	Sections []Part `json:"sections"`
	Symbols  []Part `json:"symbols"` // the largest first
}

// Part is a section or a symbol.
type Part struct {
	Name    string `json:"name"`
	Section string `json:"section,omitempty"`
	Bytes   int64  `json:"bytes"`
}

// FolderError says that a folder is none of a C package that can be measured.
type FolderError struct{ text string }

func (e *FolderError) Error() string { return e.text }

func failFolder(format string, args ...any) {
	must.Check(&FolderError{fmt.Sprintf(format, args...)})
}

// Folder measures the package in a folder. The error is a [*toolchain.MissingError] if there is
// no compiler for the target, and a [*FolderError] if there is no package.
func Folder(ctx context.Context, dir string, opt Options) (_ *Size, err error) {
	defer must.Catch(&err)
	p := find(dir, opt.Name)
	if opt.Machine == nil {
		opt.Machine = p.machine
	}
	if opt.CFlags == nil {
		opt.CFlags = []string{"-O3"}
		if cmp.Or(opt.Optimize, p.optimize, opt.Machine.DefaultOptimize()) == "size" {
			opt.CFlags = []string{"-Os"}
		}
	}
	target := toolchain.Machine(opt.Machine)
	target.Flags = slices.DeleteFunc(target.Flags, func(f string) bool {
		return f == "-Werror" || f == "-O2" // of the tests
	})
	target.CompileFlags = opt.CFlags
	if opt.CC != "" {
		target.Linker, target.Compiler = target.Compiler, opt.CC
	}
	s := &Size{Name: p.name, Target: opt.Machine.Name, Compiler: must.Get(compilerOf(ctx, target)),
		Flags: slices.Concat(target.Flags, target.CompileFlags)}
	work, remove := must.Get2(interrupt.TempDir("etgen-size-"))
	defer remove()
	sources := must.Get(p.application(work))
	for _, u := range p.units {
		sources = append(sources, u.sources...)
	}
	must.Get(target.Compile(ctx, work, sources...))
	entries := must.Get(p.entries(work))
	elf := must.Get(baremetal.Link(ctx, target, work, sources, entries...))
	s.image(must.Get(toolchain.ReadELF(elf)))
	s.stack(must.Get(p.stack(ctx, target, work, entries)))
	s.Arena, s.State = p.arena(), must.Get(stateOf(work))
	s.RAM = s.Arena + s.State + s.Data + s.BSS
	s.Flash = s.Text + s.ROData + s.Data
	return s, nil
}

// pack is a C package in a folder.
type pack struct {
	dir, name string
	machine   *tuned.Machine
	optimize  string
	units     []*unit // the first has the package's name; separate models and what they share follow
}

// unit is the files of a package that one name begins.
type unit struct {
	name    string
	header  string // its text
	sources []string
	headers []string // that the code includes, without .h
	shared  bool     // others' code calls its functions
}

var (
	targetFlag   = regexp.MustCompile(`--target=(\S+)`)
	optimizeFlag = regexp.MustCompile(`--optimize=(\S+)`)
)

// IsPackage reports whether a path is a folder with a C package of etgen's.
func IsPackage(dir string) bool {
	headers, _ := filepath.Glob(filepath.Join(dir, "*.h"))
	return slices.ContainsFunc(headers, func(h string) bool {
		return codegen.GeneratedKind(h) == codegen.KindC
	})
}

// find finds the package of a name in a folder, or the only one. Separate models and what they
// share are one, called like the latter; each model is one as well.
func find(dir, name string) *pack {
	headers, _ := filepath.Glob(filepath.Join(dir, "*.h"))
	units := map[string]*unit{}
	for _, h := range headers {
		n := strings.TrimSuffix(filepath.Base(h), ".h")
		_, missing := os.Stat(filepath.Join(dir, n+".c")) // NAME_pal.h and NAME_ops.h have none
		if codegen.GeneratedKind(h) == codegen.KindC && missing == nil {
			units[n] = readUnit(dir, n)
		}
	}
	for n, u := range units {
		if slices.Contains(u.headers, n+"_profile") {
			delete(units, n+"_profile")
		}
	}
	sorted := slices.Sorted(maps.Keys(units))
	calls := func(n, other string) bool {
		return n != other && slices.Contains(units[n].headers, other)
	}
	var names []string
	for _, n := range sorted {
		alone := true
		for _, other := range sorted {
			if calls(n, other) {
				alone, units[other].shared = false, true
			}
		}
		if n == name || name == "" && alone {
			names = append(names, n)
		}
	}
	switch {
	case len(names) == 0 && name != "":
		failFolder("%s has no C package %s of etgen's", dir, name)
	case len(names) == 0:
		failFolder("%s has no C package of etgen's", dir)
	case len(names) > 1:
		failFolder("%s has several packages: name one of %s", dir, strings.Join(names, ", "))
	}
	p := &pack{dir: dir, name: names[0], units: []*unit{units[names[0]]}}
	for _, n := range sorted {
		if calls(n, p.name) || calls(p.name, n) {
			p.units = append(p.units, units[n])
		}
	}
	by := codegen.GeneratedBy(filepath.Join(dir, p.name+".h"))
	word := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(by); m != nil {
			return m[1]
		}
		return ""
	}
	p.machine = must.Get(tuned.MachineNamed(word(targetFlag)))
	p.optimize = word(optimizeFlag)
	return p
}

// included is a header of the folder that a source includes.
var included = regexp.MustCompile(`(?m)^#include "(\w+)\.h"$`)

// readUnit reads the files of a folder that a name begins.
func readUnit(dir, name string) *unit {
	u := &unit{name: name, header: string(must.Get(os.ReadFile(filepath.Join(dir, name+".h"))))}
	text := must.Get(os.ReadFile(filepath.Join(dir, name+".c")))
	for _, m := range included.FindAllSubmatch(text, -1) {
		u.headers = append(u.headers, string(m[1]))
	}
	for _, suffix := range []string{".c", "_weights.c", "_weights.S", "_profile.c"} {
		source := filepath.Join(dir, name+suffix)
		own := suffix != "_profile.c" || slices.Contains(u.headers, name+"_profile")
		if _, err := os.Stat(source); err == nil && own {
			u.sources = append(u.sources, source)
		}
	}
	return u
}

// entries are the functions that an application calls, of the objects in a folder: not those of
// what models share.
func (p *pack) entries(work string) (all []string, err error) {
	for _, u := range p.units {
		if u.shared {
			continue
		}
		of, err := entriesOf(filepath.Join(work, u.name+".o"))
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// entriesOf returns the functions of an object that others may call.
func entriesOf(object string) (entries []string, err error) {
	image, err := toolchain.ReadELF(object)
	if err != nil {
		return nil, err
	}
	for _, s := range image.Symbols {
		if s.Global && !s.Data {
			entries = append(entries, s.Name)
		}
	}
	return entries, nil
}

// image notes the bytes of an image.
func (s *Size) image(image *toolchain.Image) {
	sizes := image.Sizes(".persistent") // which is there for its alignment
	s.Text, s.ROData, s.Data, s.BSS = int64(sizes.Text), int64(sizes.ROData), int64(sizes.Data),
		int64(sizes.BSS)
	for _, x := range image.Sections {
		s.Sections = append(s.Sections, Part{Name: x.Name, Bytes: int64(x.Size)})
	}
	for _, x := range image.Symbols {
		if x.Size > 0 {
			s.Symbols = append(s.Symbols, Part{x.Name, x.Section, int64(x.Size)})
		}
	}
	seq.Sort(s.Symbols, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// compilerOf returns the name and the version of the target's compiler.
func compilerOf(ctx context.Context, t toolchain.Target) (string, error) {
	path, err := toolchain.Find(t.Compiler)
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, path, "-dumpfullversion", "-dumpversion").Output()
	if err != nil {
		return "", &toolchain.MissingError{Command: t.Compiler,
			Err: fmt.Errorf("%s does not tell its version: %w", t.Compiler, err)}
	}
	return t.Compiler + " " + strings.TrimSpace(string(version)), nil
}
