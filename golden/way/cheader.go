package way

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// cAPI is what a generated header declares of a method.
type cAPI struct {
	name   string // of the function
	params []cParam
	sizes  []cParam // members of its sizes struct
	banks  []cParam // members of its arenas struct
	reset  bool
}

// cParam is a parameter or a member: "const float *x".
type cParam struct {
	text    string
	name    string
	base    string // type without const and *
	pointer bool
}

// cComment is a comment of a header.
var cComment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// readCHeader finds the declarations of the methods in the text that a user of the package reads.
func readCHeader(text, prefix string) (methods []*cAPI, err error) {
	text = cComment.ReplaceAllString(text, " ")
	reset := regexp.MustCompile(`\b` + prefix + `_reset\s*\(`).MatchString(text)
	structs := map[string]string{} // members by name
	for _, m := range cStruct.FindAllStringSubmatch(text, -1) {
		structs[m[2]] = m[1]
	}
	for _, proto := range regexp.MustCompile(`\b`+prefix+`_status\s+(\w+)\s*\(([^)]*)\)\s*;`).
		FindAllStringSubmatch(text, -1) {
		api := &cAPI{name: proto[1], reset: reset}
		if api.name == prefix+"_delegates_init" {
			continue
		}
		if proto[2] = strings.TrimSpace(proto[2]); proto[2] != "void" {
			if api.params, err = parseCParams(proto[2], ","); err != nil {
				return nil, err
			}
		}
		if api.sizes, err = api.members(structs, api.name+"_sizes"); err != nil {
			return nil, err
		}
		if api.banks, err = api.members(structs, prefix+"_arenas"); err != nil {
			return nil, err
		}
		methods = append(methods, api)
	}
	return methods, nil
}

// cStatuses returns the names of the values of a package's status type, without its prefix.
func cStatuses(text, prefix string) (names []string) {
	text = cComment.ReplaceAllString(text, " ")
	found := regexp.MustCompile(`typedef\s+enum\s*\{([^}]*)\}\s*` + prefix + `_status\s*;`).
		FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	for name := range strings.SplitSeq(found[1], ",") {
		if name = strings.TrimSpace(name); len(name) > len(prefix) {
			names = append(names, name[len(prefix)+1:])
		}
	}
	return names
}

// cStruct declares the type of a struct.
var cStruct = regexp.MustCompile(`typedef\s+struct\s*\{([^}]*)\}\s*(\w+)\s*;`)

// members reads those of the struct whose name begins so that a parameter points to, nil if
// none does.
func (api *cAPI) members(structs map[string]string, begins string) ([]cParam, error) {
	i := slices.IndexFunc(api.params, func(p cParam) bool {
		return strings.HasPrefix(p.base, begins)
	})
	if i < 0 {
		return nil, nil
	}
	text, ok := structs[api.params[i].base]
	if !ok {
		return nil, fmt.Errorf("the generated header does not declare %s", api.params[i].base)
	}
	return parseCParams(text, ";")
}

// parseCParams reads a list of parameters or members.
func parseCParams(text, separator string) (list []cParam, err error) {
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := cDeclared.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("the generated header declares %q, which cannot be read", part)
		}
		list = append(list, cParam{text: part, base: m[1], pointer: m[2] != "", name: m[3]})
	}
	return list, nil
}

// cDeclared is a parameter or a member.
var cDeclared = regexp.MustCompile(`^(?:const\s+)?(\w+)\s*(\*?)\s*(\w+)$`)

// value is wire argument i as the parameter's type.
func (p cParam) value(i int) string {
	switch {
	case p.pointer:
		return fmt.Sprintf("(%s *)args[%d]", p.base, i)
	case p.base == "bool":
		return fmt.Sprintf("*(const int64_t *)args[%d] != 0", i)
	case p.base == "float" || p.base == "double":
		return fmt.Sprintf("(%s)*(const double *)args[%d]", p.base, i)
	}
	return fmt.Sprintf("(%s)*(const int64_t *)args[%d]", p.base, i)
}
