package toolchain

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/codegen/interrupt"
)

// Compile compiles C and assembler sources into dir, one object per source,
// and returns the objects in the order of the sources. The folder of every
// source is on the include path, for headers as for .incbin. Beside foo.o lies
// foo.su for [StackFrames]. Two sources of the same base name are an error.
func (t Target) Compile(ctx context.Context, dir string, sources ...string) ([]string, error) {
	compiler, err := Find(t.Compiler)
	if err != nil {
		return nil, err
	}
	flags, err := t.compileFlags(sources)
	if err != nil {
		return nil, err
	}
	objects := make([]string, len(sources))
	errs := make([]error, len(sources))
	free := make(chan struct{}, runtime.NumCPU())
	var wait sync.WaitGroup
	for i, source := range sources {
		object := filepath.Join(dir, stem(source)+".o")
		if slices.Contains(objects[:i], object) {
			return nil, fmt.Errorf("%s: two sources are named %s", t.Name, filepath.Base(source))
		}
		objects[i] = object
	}
	for i, source := range sources {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = t.compile(ctx, dir, compiler, flags, source, objects[i])
		})
	}
	wait.Wait()
	err = errors.Join(errs...)
	if missing, ok := errors.AsType[*MissingError](err); ok {
		return nil, missing // what it says is true of each source
	}
	return objects, err
}

// compile compiles a source, or takes what was made of it before.
func (t Target) compile(ctx context.Context, dir, compiler string, flags []string,
	source, object string) error {
	kept := objects()
	key := kept.key(compiler, source, flags)
	stack := strings.TrimSuffix(object, ".o") + ".su"
	if made, ok := kept.get(key); ok {
		return made.write(object, stack)
	}
	args := slices.Concat(flags, []string{"-c", source, "-o", object})
	if err := t.run(ctx, dir, compiler, args); err != nil {
		return err
	}
	kept.put(key, compiledAs(object, stack))
	return nil
}

// Link links objects and libraries into the file out. Flags come after the
// target's own and before the objects; "-r" makes one relocatable object.
func (t Target) Link(ctx context.Context, out string, objects []string, flags ...string) error {
	t = t.Linking()
	compiler, err := Find(t.Compiler)
	if err != nil {
		return err
	}
	args := slices.Concat(t.Flags, flags, objects)
	if !slices.Contains(flags, "-r") {
		args = append(args, t.Libs...)
	}
	return t.run(ctx, filepath.Dir(out), compiler, append(args, "-o", out))
}

// Build compiles sources into dir and links them into the file out.
func (t Target) Build(ctx context.Context, dir, out string, sources ...string) error {
	objects, err := t.Compile(ctx, dir, sources...)
	if err != nil {
		return err
	}
	return t.Link(ctx, out, objects)
}

func (t Target) compileFlags(sources []string) ([]string, error) {
	flags := slices.Concat(t.Flags, t.CompileFlags, []string{"-fstack-usage"})
	var folders []string
	for _, source := range sources {
		folder, err := filepath.Abs(filepath.Dir(source))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			flags = append(flags, "-I"+folder)
		}
	}
	return flags, nil
}

// run executes the compiler, whose temporary files are in dir; its messages become
// the error.
func (t Target) run(ctx context.Context, dir, compiler string, args []string) error {
	output, err := interrupt.Command(ctx, dir, compiler, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if !sourceError.Match(output) {
		return &MissingError{Err: fmt.Errorf("%s: %w\n%s", t.Compiler, err, output)}
	}
	return fmt.Errorf("%s: %s %s: %w\n%s", t.Name, t.Compiler, strings.Join(args, " "), err, output)
}

// sourceError is what a compiler, an assembler or a linker says of a line or a section of
// a source. A compiler that fails without does not work where it is.
var sourceError = regexp.MustCompile(`(?m)^\S.*:(\d+|\([^)]*\)): `)

// stem is the base name of a path without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
