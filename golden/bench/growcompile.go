package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/grow"
)

// growCompiler is a compiler that is measured on generated packages.
type growCompiler struct {
	name, lang string
	command    []string // in the package's folder
}

func growCompilers() []growCompiler {
	c := strings.Fields("-std=c99 -O2 -c grow.c -o grow.o")
	return []growCompiler{
		{"gcc", "c", append([]string{"gcc"}, c...)},
		{"clang", "c", append([]string{"clang"}, c...)},
		{"go build", "go", strings.Fields("go build -o grow.a .")},
	}
}

// growLimit is the longest that a compiler may take.
const growLimit = 2 * time.Minute

// measure returns what the compiler takes for the package of a program.
func (c growCompiler) measure(ctx context.Context, shape grow.Shape,
	n int) (r grow.Result, peak int64, err error) {
	dir, remove, err := interrupt.TempDir("etgen-grow-")
	if err != nil {
		return r, 0, err
	}
	defer remove()
	p, err := shape.Make(n)
	if err != nil {
		return r, 0, err
	}
	pkg, err := compile.Package(p, compile.Options{Name: "grow", Lang: c.lang})
	if err != nil {
		return r, 0, err
	}
	for _, f := range pkg.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			return r, 0, err
		}
	}
	// The module is called as the folder, which is new: go's cache does not know it.
	module := fmt.Sprintf("module %s\n\ngo 1.24\n", filepath.Base(dir))
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o666); err != nil {
		return r, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, growLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Dir = dir
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return r, 0, fmt.Errorf("%w: %.200s", err, out)
	}
	return grow.Result{Time: time.Since(start)}, peakMemory(cmd.ProcessState), nil
}
