package golang

import "strings"

// architectures are those that have assembly, as file names and build
// constraints call them.
func architectures() []string { return []string{"amd64", "arm64"} }

// assembled returns the architectures whose assembly a package for a target has:
// that of the target's processor, or all if whoever compiles it decides.
func assembled(target string) []string {
	switch target {
	case "", "generic", "native":
		return architectures()
	case "x86-64-v3", "x86-64-v4": // which of the two it is, the program finds out
		return []string{"amd64"}
	case "neon":
		return []string{"arm64"}
	}
	return nil
}

// variantsOf returns the variants of a library that a package for a target has.
// Those without assembly are for every architecture that is left.
func variantsOf(lib *library, target string) []*variant {
	own := assembled(target)
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
