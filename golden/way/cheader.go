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

// readCHeader finds the declarations of a method, by its number, in the text that a
// user of the package reads.
func readCHeader(text, prefix string, method int) (*cAPI, error) {
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, " ")
	protos := regexp.MustCompile(
		`\b`+prefix+`_status\s+(\w+)\s*\(([^)]*)\)\s*;`).FindAllStringSubmatch(text, -1)
	protos = slices.DeleteFunc(protos, func(m []string) bool { return m[1] == prefix+"_delegates_init" })
	if method >= len(protos) {
		return nil, fmt.Errorf("the generated header declares %d methods, not number %d",
			len(protos), method)
	}
	name := protos[method][1]
	api := &cAPI{name: name, reset: regexp.MustCompile(`\b` + prefix +
		`_reset\s*\(`).MatchString(text)}
	for part := range strings.SplitSeq(protos[method][2], ",") {
		if part = strings.TrimSpace(part); part != "void" {
			p, err := parseCParam(part)
			if err != nil {
				return nil, err
			}
			api.params = append(api.params, p)
		}
	}
	var err error
	if api.sizes, err = api.members(text, name+"_sizes"); err == nil {
		api.banks, err = api.members(text, prefix+"_arenas")
	}
	return api, err
}

// cStatuses returns the names of the values of a package's status type, without its prefix.
func cStatuses(text, prefix string) (names []string) {
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, " ")
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

// members reads those of the struct whose name begins so that a parameter points to, nil if
// none does.
func (api *cAPI) members(text, begins string) (list []cParam, err error) {
	i := slices.IndexFunc(api.params, func(p cParam) bool {
		return strings.HasPrefix(p.base, begins)
	})
	if i < 0 {
		return nil, nil
	}
	found := regexp.MustCompile(`typedef\s+struct\s*\{([^}]*)\}\s*` + api.params[i].base +
		`\s*;`).FindStringSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("the generated header does not declare %s", api.params[i].base)
	}
	for part := range strings.SplitSeq(found[1], ";") {
		if part = strings.TrimSpace(part); part != "" {
			p, err := parseCParam(part)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func parseCParam(text string) (cParam, error) {
	m := regexp.MustCompile(`^(?:const\s+)?(\w+)\s*(\*?)\s*(\w+)$`).FindStringSubmatch(text)
	if m == nil {
		return cParam{}, fmt.Errorf("the generated header declares %q, which cannot be read", text)
	}
	return cParam{text: text, base: m[1], pointer: m[2] != "", name: m[3]}, nil
}

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
