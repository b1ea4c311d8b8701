package codegen

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The forms of weights in C.
const (
	WeightsC   = "c"   // arrays of literals, which every compiler reads
	WeightsAsm = "asm" // a file of bytes, which an assembler with .incbin takes in
	// WeightsBin is a file of bytes alone, which the application brings to an address.
	WeightsBin = "bin"
)

// WeightForms are the forms of weights in C.
var WeightForms = []string{WeightsC, WeightsAsm, WeightsBin}

// SectionKind is what a section of C is for.
type SectionKind string

// The kinds: weights, functions, constants that are not the model's, and delegates' payloads with
// their named data, which are among the weights without a section of their own.
const (
	WeightsSection  SectionKind = "weights"
	CodeSection     SectionKind = "code"
	TablesSection   SectionKind = "tables"
	PayloadsSection SectionKind = "payloads"
)

// SectionKinds are the kinds.
var SectionKinds = []SectionKind{WeightsSection, CodeSection, TablesSection, PayloadsSection}

// sectionName is a name that is the same in C, in pragmas and for assemblers.
var sectionName = regexp.MustCompile(`^[.A-Za-z_][.A-Za-z0-9_$]*$`)

// ParseSections reads a list of sections: "weights:.qspi,code:.itcm".
func ParseSections(text string) (map[SectionKind]string, error) {
	sections := map[SectionKind]string{}
	for part := range strings.SplitSeq(text, ",") {
		kind, name, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%q: take %s, a colon and a section's name", part, kindList)
		}
		if sections[SectionKind(kind)] != "" {
			return nil, fmt.Errorf("%s has two sections", kind)
		}
		sections[SectionKind(kind)] = name
	}
	return sections, (&Options{Sections: sections}).CheckSections()
}

const kindList = "weights, code, tables or payloads"

// CheckSections returns an error if the options for weights and sections of C cannot be: a
// form or kind is unknown, or code would lie among data, for which compilers have no section.
func (o *Options) CheckSections() error {
	if o.Weights != "" && !slices.Contains(WeightForms, o.Weights) {
		return fmt.Errorf("the form %q of weights is unknown: take %s", o.Weights,
			strings.Join(WeightForms, ", "))
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Sections)) {
		name := o.Sections[kind]
		switch {
		case !slices.Contains(SectionKinds, kind):
			return fmt.Errorf("nothing is called %q: take %s", string(kind), kindList)
		case !sectionName.MatchString(name):
			return fmt.Errorf(
				"%q is no name of a section: take letters, digits, points and underscores", name)
		case kind != CodeSection && name == o.Sections[CodeSection]:
			return fmt.Errorf("code and %s in one section %s: compilers want two", kind, name)
		}
	}
	return nil
}
