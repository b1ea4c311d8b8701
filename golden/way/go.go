package way

import (
	"context"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/golden/toolchain"
)

// Go compiles models to Go packages and runs them in one program.
type Go struct {
	Settings Settings
	// Machine is where the program runs; the zero value is this machine.
	Machine toolchain.GoMachine
}

// Name is "go".
func (Go) Name() string { return "go" }

// Run implements [Way].
func (w Go) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	runBatch(ctx, w.Settings, "go", jobs, w.build, done)
}

// build builds a module with a package per unit. Units that do not compile
// are left out and it is tried again.
func (w Go) build(ctx context.Context, dir string,
	units []*unit) (*session.Program, []*unit, error) {
	if err := toolchain.FindAll("go", w.Machine.Emulator); err != nil {
		return nil, nil, err
	}
	mod := w.Settings.Options.Custom.GoMod("models")
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666); err != nil {
		return nil, nil, err
	}
	if err := session.WriteGo(dir); err != nil {
		return nil, nil, err
	}
	exe := filepath.Join(dir, "models.exe")
	temp := filepath.Join(dir, "tmp") // not dir: the go command takes no module there
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return nil, nil, err
	}
	for {
		var ready []*unit
		for _, u := range units {
			if u.result.Err == nil {
				u.result.Err = guard(func() error { return u.writeDrivers(w.Settings.Drivers.Go) })
			}
			if u.result.Err == nil {
				u.result.Err = guard(u.writeGoGlue)
			}
			if u.result.Err == nil {
				ready = append(ready, u)
			} else {
				os.Remove(u.goGlue())
			}
		}
		if len(ready) == 0 {
			return nil, nil, nil
		}
		if err := writeGoTable(dir, ready); err != nil {
			return nil, nil, err
		}
		w.Settings.Options.Tell("go build")
		// Nobody runs a debugger on the program: its tables would take a third of the link.
		cmd := interrupt.Command(ctx, temp, "go", "build", "-trimpath", "-ldflags=-w",
			"-gcflags=models/...=-dwarf=false", "-o", exe, ".")
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0",
			"GO111MODULE=on", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
		cmd.Env = append(cmd.Env, w.Machine.Env...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return &session.Program{Command: w.Machine.Command(exe)}, ready, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if !blameGo(ready, string(out)) {
			// It is about no package, so of the go command and what surrounds it.
			return nil, nil, &toolchain.MissingError{Err: fmt.Errorf("go build: %w\n%s", err, out)}
		}
	}
}

// blameGo gives the compiler's messages to the units they are about.
func blameGo(units []*unit, out string) bool {
	found := false
	place := regexp.MustCompile(`^(?:\./)?(\w+)(?:/|_glue\.go)\S* (.*)`)
	for line := range strings.Lines(out) {
		m := place.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		for _, u := range units {
			if u.name == m[1] && u.result.Err == nil {
				u.result.Err = fmt.Errorf("the Go compiler: %s", strings.TrimSpace(line))
				found = true
			}
		}
	}
	return found
}

// packageClause is the first that a file has.
var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// writeDrivers makes files of drivers a part of the unit's package.
func (u *unit) writeDrivers(files []string) error {
	table := u.pkg.File("delegates.go")
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || table == nil {
			return err
		}
		text = packageClause.ReplaceAll(text, packageClause.Find(table))
		name := filepath.Join(u.dir, fmt.Sprintf("driver%d.go", i))
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) goGlue() string {
	return u.dir + "_glue.go" // whatever the name ends with, it is of no one machine
}

// writeGoGlue writes the functions that call the unit's methods, by what the
// package declares.
func (u *unit) writeGoGlue() error {
	api, err := u.goAPI()
	if err != nil {
		return err
	}
	probe, probes := "", ""
	if u.result.Steps != nil {
		probe = fmt.Sprintf("model_%s.ProfileEvent = probe_%s", u.name, u.name)
		probes = goProbes(u.name, u.steps)
	}
	model := "pkg.New()"
	if len(u.result.Native.Delegates) > 0 {
		model = "func() *pkg.Model {\nm, err := pkg.New(pkg.Drivers())\n" +
			"if err != nil {\npanic(err)\n}\nreturn m\n}()"
	}
	text := fmt.Sprintf(goGlueHead, u.name, u.name, u.name, u.name, u.name, model, probe, u.name,
		u.goReset(api)) + probes
	for i := range u.layouts {
		m, err := api.method(i)
		if err != nil {
			return err
		}
		call, err := u.goCall(m, i)
		if err != nil {
			return err
		}
		text += call
	}
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, text)
	}
	return os.WriteFile(u.goGlue(), formatted, 0o666)
}

// writeGoTable writes the table of all models.
func writeGoTable(dir string, units []*unit) error {
	var b strings.Builder
	b.WriteString("package main\n\nvar models = []model{\n")
	for _, u := range units {
		for i := range u.layouts {
			fmt.Fprintf(&b, "\tcall_%s_%d,\n", u.name, i)
		}
	}
	b.WriteString("}\n")
	return os.WriteFile(filepath.Join(dir, "models.go"), []byte(b.String()), 0o666)
}
