package random

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// The programs in testdata once went wrong somewhere. The first lines, with #,
// tell what of.
func TestCases(t *testing.T) {
	tier.Needs(t, tier.Normal)
	table := ops.Standard()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	var all []*program
	var names []string
	for _, file := range files {
		x, err := readCase(table, file)
		if err == nil {
			err = x.checkPasses(table)
		}
		if err == nil {
			err = x.checkNative()
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		all, names = append(all, x), append(names, file)
	}
	for i, errs := range checkCompiled(t.Context(), all, variants) {
		for v, err := range errs {
			if err != nil {
				t.Errorf("%s via %s: %v", names[i], variants[v].name, err)
			}
		}
	}
}

func readCase(table *ops.Table, file string) (*program, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(data)
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	p, err := ir.Parse("random", text)
	if err != nil {
		return nil, err
	}
	resolve(p)
	if err := ir.Verify(p); err != nil {
		return nil, err
	}
	x, err := newProgram(table, p)
	if err != nil {
		return nil, err
	}
	x.terms, err = termsOf(table, p)
	return x, err
}
