package golang

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned"
)

func TestVariantsOf(t *testing.T) {
	lib, err := openLibrary(strip.Source, ".")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"generic":   "vector_amd64.go //go:build !purego, vector_arm64.go //go:build !purego, vector_other.go //go:build (!amd64 && !arm64) || purego",
		"x86-64-v3": "vector_amd64.go //go:build !purego, vector_other.go //go:build !amd64 || purego",
		"neon":      "vector_arm64.go //go:build !purego, vector_other.go //go:build !arm64 || purego",
		"scalar":    "vector_other.go ",
		"cortex-m4": "vector_other.go ",
	} {
		var got []string
		m, err := tuned.MachineNamed(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variantsOf(lib, (&unit{machine: m}).assembly()) {
			got = append(got, v.file+" "+v.constraint)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", target, s, want)
		}
	}
}
