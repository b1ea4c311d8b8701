package way

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/ir"
)

// Separate is C, with the models of a batch that have one method compiled together, as etgen
// --separate does.
type Separate struct{ C }

// Run implements [Way].
func (w Separate) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	build := func(ctx context.Context, dir string, units []*unit) (*session.Program, []*unit, error) {
		if err := w.together(ctx, dir, units, jobs); err != nil {
			return nil, nil, err
		}
		c := w.C
		c.Settings.Drivers.C = []string{filepath.Join(dir, "all.c")}
		return c.build(ctx, dir, units)
	}
	runBatch(ctx, w.Settings, "c", jobs, build, done)
}

// cpp compiles the classes of C++ of all units.
func cpp(ctx context.Context, dir string, units []*unit) error {
	text := ""
	for _, u := range units {
		if u.pkg.File(u.name+".hpp") != nil {
			text += fmt.Sprintf("#include %q\n", u.name+"/"+u.name+".hpp")
		}
	}
	file := filepath.Join(dir, "all.cpp")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	for _, compiler := range []string{"g++", "clang++"} {
		cmd := exec.CommandContext(ctx, compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror",
			"-pedantic", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fsyntax-only", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// together replaces the packages of units by what one compilation of them gives, and writes what
// they share into dir.
func (w Separate) together(ctx context.Context, dir string, units []*unit, jobs []Job) (err error) {
	whole := &ir.Program{Source: "several", Dialect: ir.ATen, SeparateState: true}
	suffixes := []string{".h", ".hpp", ".c", "_weights.c", "_weights.S", "_weights.bin"}
	of := map[string]*unit{} // by file
	for _, u := range units {
		p, closer, openErr := jobs[u.index].Open()
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closer.Close()) }()
		if len(p.Methods) > 1 || p.Dialect != ir.ATen {
			continue
		}
		p.Methods[0].Name = u.name
		whole.Methods = append(whole.Methods, p.Methods[0])
		for _, s := range suffixes {
			of[u.name+s] = u
		}
		u.pkg = &codegen.Package{Name: u.name, Kind: codegen.KindC}
	}
	opt := w.Settings.Options
	opt.Lang, opt.Name, opt.Separate, opt.CPP = "c", "all", true, true
	pkg, err := compile.Package(whole, opt)
	if err != nil {
		return err
	}
	common := &codegen.Package{Name: "all", Kind: codegen.KindC}
	for _, f := range pkg.Files {
		if u := of[f.Name]; u != nil {
			u.pkg.Files = append(u.pkg.Files, f)
		} else if !strings.HasPrefix(f.Name, "all.") {
			return errors.New(f.Name + " belongs to no model")
		} else {
			common.Files = append(common.Files, f)
		}
	}
	for _, u := range units {
		if err := u.pkg.Write(ctx, u.dir); err != nil {
			return err
		}
	}
	if err := common.Write(ctx, dir); err != nil {
		return err
	}
	return cpp(ctx, dir, units)
}
