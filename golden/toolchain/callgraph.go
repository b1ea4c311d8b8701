package toolchain

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// Stack is how deep calls of a program's functions go.
type Stack struct {
	Bytes int // of the deepest chain of calls, as far as frames are known
	// Chain are the functions of it, from the entry on.
	Chain []string
	// Unknown are functions without a known frame: those of the compiler's library, and the
	// application's. What they take comes on top.
	Unknown []string
	// Unbounded are functions whose frame depends on what a call is given, or that call
	// themselves.
	Unbounded []string
}

// CallGraph is which functions a program's functions refer to: calls, and addresses that are taken.
type CallGraph map[string][]string

// ReadCallGraph reads the graph from object files, in which each function has a section of its
// own: all that leaves a section is a relocation then. Of functions that a compiler has made one,
// the one is meant that has a frame.
func ReadCallGraph(frames []Frame, objects ...string) (CallGraph, error) {
	g, data, known := CallGraph{}, map[string]bool{}, map[string]bool{}
	for _, f := range frames {
		known[f.Function] = true
	}
	for _, path := range objects {
		image, err := ReadELF(path)
		if err != nil {
			return nil, err
		}
		for _, s := range image.Symbols {
			data[s.Name] = s.Data
		}
	}
	for _, path := range objects {
		if err := g.read(path, data, known); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return g, nil
}

func (g CallGraph) read(path string, data, known map[string]bool) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil && len(symbols) == 0 {
		return nil // an object of constants alone has none
	}
	within := map[elf.SectionIndex]string{} // the function of a section
	begins := map[elf.SectionIndex]uint64{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
			other, there := within[s.Section]
			if there && begins[s.Section] != s.Value {
				return fmt.Errorf("%s and %s are in one section: compile with -ffunction-sections",
					other, s.Name)
			}
			begins[s.Section] = s.Value
			if !there || known[s.Name] {
				within[s.Section] = s.Name
			}
			if g[s.Name] == nil {
				g[s.Name] = []string{}
			}
		}
	}
	for _, s := range symbols {
		one := within[s.Section]
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && one != s.Name {
			g[s.Name] = []string{one} // another name of it
		}
	}
	for _, section := range file.Sections {
		from := within[elf.SectionIndex(section.Info)]
		if section.Type != elf.SHT_REL && section.Type != elf.SHT_RELA || from == "" {
			continue
		}
		targets, err := relocated(file, section)
		if err != nil {
			return err
		}
		for _, at := range targets {
			if at == 0 || at > len(symbols) {
				continue
			}
			s := symbols[at-1]
			to := ""
			switch kind := elf.ST_TYPE(s.Info); {
			case s.Section == elf.SHN_UNDEF && !data[s.Name]:
				to = s.Name
			case kind == elf.STT_FUNC && s.Section != elf.SHN_UNDEF:
				to = within[s.Section]
			case kind == elf.STT_FUNC:
				to = s.Name
			case within[s.Section] != from: // a label in another function, or its section
				to = within[s.Section]
			}
			if to != "" && !slices.Contains(g[from], to) {
				g[from] = append(g[from], to)
			}
		}
	}
	return nil
}

// relocated returns the numbers of the symbols that a section's relocations refer to.
func relocated(file *elf.File, section *elf.Section) ([]int, error) {
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	word := 4
	if file.Class == elf.ELFCLASS64 {
		word = 8
	}
	size := 2 * word
	if section.Type == elf.SHT_RELA {
		size = 3 * word
	}
	var list []int
	for ; len(data) >= size; data = data[size:] {
		if word == 8 {
			list = append(list, int(file.ByteOrder.Uint64(data[8:])>>32))
		} else {
			list = append(list, int(file.ByteOrder.Uint32(data[4:])>>8))
		}
	}
	return list, nil
}

// Stack returns how deep calls of the entry functions go, whose frames are known by
// [StackFrames].
func (g CallGraph) Stack(frames []Frame, entries ...string) Stack {
	w := &stackWalk{g: g, frames: map[string]Frame{}, depth: map[string]int{},
		next: map[string]string{}, open: map[string]bool{}}
	for _, f := range frames {
		w.frames[f.Function] = f
	}
	out := Stack{}
	for _, e := range entries {
		if d := w.visit(e); d > out.Bytes || out.Chain == nil {
			out.Bytes, out.Chain = d, nil
			for at := e; at != ""; at = w.next[at] {
				out.Chain = append(out.Chain, at)
			}
		}
	}
	slices.Sort(w.unknown)
	slices.Sort(w.unbounded)
	out.Unknown, out.Unbounded = w.unknown, slices.Compact(w.unbounded)
	return out
}

type stackWalk struct {
	g                  CallGraph
	frames             map[string]Frame
	depth              map[string]int
	next               map[string]string // the deepest callee
	open               map[string]bool   // being visited
	unknown, unbounded []string
}

func (w *stackWalk) visit(function string) int {
	if d, done := w.depth[function]; done {
		return d
	}
	if w.open[function] {
		w.unbounded = append(w.unbounded, function)
		return 0
	}
	w.open[function] = true
	defer delete(w.open, function)
	callees := w.g[function]
	frame, known := w.frames[function]
	if !known { // of clones gcc does not tell the number
		if i := strings.LastIndexByte(function, '.'); i > 0 {
			frame, known = w.frames[function[:i]]
		}
	}
	if !known {
		w.unknown = append(w.unknown, function)
	}
	if known && !frame.Bounded {
		w.unbounded = append(w.unbounded, function)
	}
	deepest := 0
	slices.Sort(callees)
	for _, c := range callees {
		if d := w.visit(c); d > deepest {
			deepest, w.next[function] = d, c
		}
	}
	w.depth[function] = frame.Bytes + deepest
	return w.depth[function]
}
