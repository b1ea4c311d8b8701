package safety

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// The C of every case is free of warnings: with gcc and clang, as C++ with
// both, and on machines of 32 bits. (gcc on the host is what cases run with.)
func TestWarnings(t *testing.T) {
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	syntax := []toolchain.Target{
		toolchain.Clang().With("-fsyntax-only"), toolchain.GXX().With("-fsyntax-only"),
		toolchain.ClangXX().With("-fsyntax-only"),
	}
	// golden/boards builds every case for a Cortex-M4, too, in that target's text.
	small := []toolchain.Target{toolchain.CortexM4().With("-O1"), toolchain.RISCV32().With("-O1")}
	inFull := tier.Some(dirs, 2, 36)
	for i, dir := range tier.Some(dirs, 4, -1) {
		targets := tier.Share(syntax, i%len(syntax), len(syntax))
		if slices.Contains(inFull, dir) {
			targets = slices.Concat(targets, small)
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c, err := testcase.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			sources := writePackage(t, conform.Job(c, c.Models[0]))
			errs := make([]error, len(targets))
			var wait sync.WaitGroup
			for i, target := range targets {
				objects := t.TempDir()
				wait.Go(func() { _, errs[i] = target.Compile(t.Context(), objects, sources...) })
			}
			wait.Wait()
			for i, err := range errs {
				if err != nil {
					t.Error(diagnostics(targets[i].Name, err))
				}
			}
		})
	}
}

func writePackage(t *testing.T, j way.Job) (sources []string) {
	t.Helper()
	p, closer, err := j.Open()
	if err != nil {
		t.Fatal(err)
	}
	if closer != nil {
		defer closer.Close()
	}
	pkg, err := compile.Package(p, compile.Options{Lang: "c"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext == ".c" || ext == ".S" {
			sources = append(sources, filepath.Join(dir, f.Name))
		}
	}
	return sources
}

// diagnostics is a compiler's first few messages.
func diagnostics(target string, err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "error:") && strings.Count(text, "\n") < 3 {
			text += line
		}
	}
	if text == "" {
		text = err.Error()
	}
	return fmt.Sprintf("%s: %s", target, text)
}
