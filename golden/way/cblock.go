package way

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/etgen/etgen/lower/native"
)

// cBlocks makes the blocks that a caller who has read nothing but the header
// allocates for the tensors of a method: by its macros.
type cBlocks struct {
	macros        map[string]bool
	prefixes      []string // of the macros of this method
	api           *cAPI
	l             *layout
	before, after []string // statements around the call
}

func newCBlocks(header, name string, api *cAPI, l *layout) *cBlocks {
	r := &cBlocks{macros: map[string]bool{}, api: api, l: l}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+_BYTES) \d+u$`).FindAllStringSubmatch(
		header, -1) {
		r.macros[m[1]] = true
	}
	upper := strings.ToUpper(name)
	r.prefixes = []string{strings.ToUpper(api.name) + "_", upper + "_"}
	return r
}

// block declares a block for parameter c and returns its name and its macro.
func (r *cBlocks) block(c cParam) (name, macro string, err error) {
	for _, prefix := range r.prefixes {
		for _, end := range []string{"_MAX_BYTES", "_BYTES"} {
			if macro = prefix + strings.ToUpper(c.name) + end; r.macros[macro] {
				name = "room_" + c.name
				r.before = append(r.before, fmt.Sprintf("%s *%s = (%s *)malloc(%s);", c.base, name,
					c.base, macro))
				return name, macro, nil
			}
		}
	}
	return "", "", fmt.Errorf("the generated header does not say how many bytes %s takes", c.name)
}

func (r *cBlocks) input(port int, c cParam, arg int) (string, error) {
	name, macro, err := r.block(c)
	if err != nil {
		return "", err
	}
	p := r.l.method.Inputs[port]
	// An input that is too large is cut: the call has to refuse its sizes.
	bytes := r.bytes(p, port, r.l.sizes.In, 0)
	bytes = fmt.Sprintf("%s < %s ? %[1]s : %[2]s", bytes, macro)
	r.before = append(r.before, fmt.Sprintf("memcpy(%s, args[%d], %s);", name, arg, bytes))
	if p.Mutated {
		r.after = append(r.after, fmt.Sprintf("memcpy(args[%d], %s, %s);", arg, name, bytes))
	}
	r.after = append(r.after, fmt.Sprintf("free(%s);", name))
	return name, nil
}

func (r *cBlocks) output(port int, c cParam, arg int) (string, error) {
	name, _, err := r.block(c)
	if err != nil {
		return "", err
	}
	bytes := r.bytes(r.l.method.Outputs[port], port, r.l.sizes.Out, len(r.l.sizes.In))
	r.after = append(r.after,
		fmt.Sprintf("if (status == 0) {\n\t\tmemcpy(args[%d], %s, %s);\n\t}", arg, name, bytes),
		fmt.Sprintf("free(%s);", name))
	return name, nil
}

// bytes is how many bytes of a tensor are used, in C. Its dynamic dimensions are
// among dims, whose members in the sizes struct begin with number first.
func (r *cBlocks) bytes(p native.Port, port int, dims []native.Dim, first int) string {
	factors := []string{fmt.Sprintf("(size_t)%d", p.Buf.DType.Size())}
	for axis, s := range p.Type.Sizes {
		if n, known := s.Const(); known {
			factors = append(factors, fmt.Sprint(n))
			continue
		}
		for k, d := range dims {
			if d.Port == port && d.Axis == axis {
				factors = append(factors, "(size_t)sizes."+r.api.sizes[first+k].name)
			}
		}
	}
	return strings.Join(factors, " * ")
}
