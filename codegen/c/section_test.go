package c_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/c"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// generateWith is generate with options of weights and sections.
func generateWith(t *testing.T, opt c.Options, n int) (dir string, pkg *codegen.Package) {
	t.Helper()
	opt.Name = "large"
	pkg, err := c.Generate(largeWeights(n), opt)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir, pkg
}

// Small weights can be in a file, and large ones in literals.
func TestWeightForms(t *testing.T) {
	for _, x := range []struct {
		form  string
		n     int
		files string
	}{
		{"", 10, ".h .c _weights.c"}, {"c", 20000, ".h .c _weights.c"},
		{"asm", 10, ".h .c _weights.S _weights.bin"}, {"bin", 10, ".h .c _weights.bin"},
	} {
		_, pkg := generateWith(t, c.Options{Weights: x.form}, x.n)
		var names []string
		for _, f := range pkg.Files {
			names = append(names, strings.TrimPrefix(f.Name, "large"))
		}
		if got := strings.Join(names, " "); got != x.files {
			t.Errorf("%s: %s, want %s", x.form, got, x.files)
		}
	}
}

// The application brings the weights to an address: that of a symbol, or one that a macro
// gives, an integer or a pointer. The header has what a loader checks.
func TestWeightAddress(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const n = 20
	dir, pkg := generateWith(t, c.Options{Weights: codegen.WeightsBin,
		Sections: map[codegen.SectionKind]string{codegen.CodeSection: ".fast"}}, n)
	strict(t, dir, pkg)
	strict(t, dir, pkg, "-DLARGE_WEIGHTS_ADDRESS=(uintptr_t)0x90000000u", "-DLARGE_CODE_SECTION=")
	block := pkg.File("large_weights.bin")
	crc := fmt.Sprintf("#define LARGE_WEIGHTS_CRC32 0x%08xu", crc32.ChecksumIEEE(block))
	size := fmt.Sprintf("#define LARGE_WEIGHTS_SIZE %du", len(block))
	if h := string(pkg.File("large.h")); !strings.Contains(h, crc) || !strings.Contains(h, size) {
		t.Errorf("the header says neither %q nor %q", crc, size)
	}
	main, stdin := mainText("large",
		[]step{{method: "large_forward", args: []string{"(float *)out[0]", "(int8_t *)out[1]"},
			out: []int{4 * n, 3}}}, "")
	var list strings.Builder
	for _, b := range block {
		fmt.Fprintf(&list, "%d,", b)
	}
	for name, macro := range map[string]string{"large_weights": "", "flash": "flash"} {
		text := fmt.Sprintf("\n__attribute__((aligned(16))) const unsigned char %s[] = {%s};\n", name,
			list.String())
		target := sanitized()
		if macro != "" {
			target = target.With("-DLARGE_WEIGHTS_ADDRESS="+macro, "-include",
				filepath.Join(dir, "flash.h"))
			head := []byte("extern const unsigned char flash[];\n")
			if err := os.WriteFile(filepath.Join(dir, "flash.h"), head, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got := run(t, dir, pkg, main+text, stdin, target)
		want := []byte{0}
		for i := range n {
			want = append(want, floats(-float32(i))...)
		}
		want = append(want, 0xff, 0xfe, 0xfd)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong results", name)
		}
	}
}

// Options that cannot be are errors: compilers have no section for code and data.
func TestSectionErrors(t *testing.T) {
	for text, says := range map[string]string{
		"stack:.x":              `nothing is called "stack"`,
		"code":                  `"code": take weights, code, tables or payloads`,
		"code:":                 `"" is no name of a section`,
		"code:.a\")":            "is no name of a section",
		"code:.a,code:.b":       "code has two sections",
		"code:.a,tables:.a":     "code and tables in one section .a",
		"weights:.a,code:.a":    "code and weights in one section .a",
		"weights:.a,tables:.a":  "",
		"weights:.a,code:.b\n.": "is no name of a section",
	} {
		_, err := codegen.ParseSections(text)
		if says == "" && err != nil || says != "" && (err == nil ||
			!strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := c.Generate(largeWeights(1), c.Options{Name: "large", Weights: "elf"}); err == nil {
		t.Error("an unknown form of weights is no error")
	}
}

// Every function and table of a package has its section, whatever compiler there is.
func TestSectionsOfObject(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dir, pkg := generateWith(t, c.Options{Sections: map[codegen.SectionKind]string{
		codegen.CodeSection: ".fast", codegen.WeightsSection: ".far", codegen.TablesSection: ".near"}},
		20)
	strict(t, dir, pkg)
	for _, target := range []toolchain.Target{toolchain.GCC(), toolchain.Clang(),
		toolchain.RISCV32()} {
		objects, err := target.Compile(t.Context(), t.TempDir(), sources(dir, pkg)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			image, err := toolchain.ReadELF(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range image.Symbols {
				if s.Section != ".fast" && s.Section != ".far" && s.Section != ".near" && s.Size > 0 {
					t.Errorf("%s: %s is in %s", target.Name, s.Name, s.Section)
				}
			}
		}
	}
}
