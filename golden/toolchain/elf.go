package toolchain

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
)

// Image is what this package knows of an object file or a linked program.
type Image struct {
	Sections []Section // those that take memory, in file order
	Symbols  []Symbol  // functions and objects, sorted by name
	Undef    []string  // names the file needs from elsewhere, sorted
}

// Section is a part of an [Image] that takes memory.
type Section struct {
	Name string
	Kind Kind
	Size uint64 // bytes
}

// Symbol is a function or an object in an [Image].
type Symbol struct {
	Name    string
	Section string
	Size    uint64 // bytes
	Global  bool
	Data    bool // it is no function
}

// Kind says what memory a section takes.
type Kind int

// The kinds of sections. Data takes flash for its initial value and RAM.
const (
	Text Kind = iota
	ROData
	Data
	BSS
)

// Sizes are the bytes of each [Kind].
type Sizes struct{ Text, ROData, Data, BSS uint64 }

// Flash is the read-only memory in bytes that a program takes.
func (s Sizes) Flash() uint64 { return s.Text + s.ROData + s.Data }

// RAM is the memory in bytes that a program takes, its stack excepted.
func (s Sizes) RAM() uint64 { return s.Data + s.BSS }

// ReadELF reads an object file or a linked ELF program.
func ReadELF(path string) (*Image, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer file.Close()
	image := &Image{}
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size > 0 {
			image.Sections = append(image.Sections, Section{s.Name, kindOf(s), s.Size})
		}
	}
	symbols, err := file.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range symbols {
		image.addSymbol(file, s)
	}
	seq.Sort(image.Symbols, func(a, b Symbol) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(image.Undef)
	return image, nil
}

func kindOf(s *elf.Section) Kind {
	switch {
	case s.Type == elf.SHT_NOBITS:
		return BSS
	case s.Flags&elf.SHF_EXECINSTR != 0:
		return Text
	case s.Flags&elf.SHF_WRITE != 0:
		return Data
	}
	return ROData
}

func (im *Image) addSymbol(file *elf.File, s elf.Symbol) {
	kind := elf.ST_TYPE(s.Info)
	// Hand-written library routines may be untyped, so those count as well;
	// "$t" and ".L" mark positions within code.
	named := s.Name != "" && !strings.HasPrefix(s.Name, "$") && !strings.HasPrefix(s.Name, ".L")
	if !named || kind != elf.STT_FUNC && kind != elf.STT_OBJECT && kind != elf.STT_NOTYPE {
		return
	}
	if s.Section == elf.SHN_UNDEF {
		im.Undef = append(im.Undef, s.Name)
		return
	}
	if int(s.Section) >= len(file.Sections) {
		return // absolute or common: takes no section
	}
	im.Symbols = append(im.Symbols, Symbol{
		Name:    s.Name,
		Section: file.Sections[s.Section].Name,
		Size:    s.Size,
		Global:  elf.ST_BIND(s.Info) == elf.STB_GLOBAL,
		Data:    kindOf(file.Sections[s.Section]) != Text,
	})
}

// Sizes adds up the sections, those excepted whose name starts with one of the
// prefixes.
func (im *Image) Sizes(except ...string) Sizes {
	var sizes Sizes
	for _, s := range im.Sections {
		if slices.ContainsFunc(except, func(p string) bool {
			return strings.HasPrefix(s.Name, p)
		}) {
			continue
		}
		switch s.Kind {
		case Text:
			sizes.Text += s.Size
		case ROData:
			sizes.ROData += s.Size
		case Data:
			sizes.Data += s.Size
		case BSS:
			sizes.BSS += s.Size
		}
	}
	return sizes
}

// Linked reports whether the image holds or needs a symbol of that name.
func (im *Image) Linked(name string) bool {
	if slices.Contains(im.Undef, name) {
		return true
	}
	return slices.ContainsFunc(im.Symbols, func(s Symbol) bool { return s.Name == name })
}
