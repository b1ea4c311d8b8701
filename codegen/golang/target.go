package golang

import "strings"

// architectures are those that have assembly, as file names and build
// constraints call them.
func architectures() []string { return []string{"amd64", "arm64"} }

// assembly returns the architectures that a package has assembly for.
func (u *unit) assembly() []string {
	if u.machine == nil {
		return architectures()
	}
	return u.machine.Assembly
}

// variantsOf returns the variants of a library that a package has with assembly for some
// architectures. Those without assembly are for every architecture that is left.
func variantsOf(lib *library, own []string) []*variant {
	var out []*variant
	for _, v := range lib.variants {
		arch := architectureOf(v.file)
		kept := arch == ""
		for _, a := range own {
			kept = kept || a == arch
		}
		if !kept {
			continue
		}
		if arch == "" && len(own) < len(architectures()) {
			rest := *v
			rest.constraint = ""
			for _, a := range own {
				rest.constraint = "//go:build !" + a + " || purego"
			}
			v = &rest
		}
		out = append(out, v)
	}
	return out
}

// architectureOf returns the architecture that a file's name restricts it to, ""
// if it does not.
func architectureOf(file string) string {
	for _, a := range architectures() {
		if strings.HasSuffix(file, "_"+a+".go") {
			return a
		}
	}
	return ""
}
