package way

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// C compiles models to C and runs them in one program.
type C struct {
	Settings Settings
	// Target is the compiler; the zero value is gcc -O1. Generated code has to
	// pass it without a warning.
	Target toolchain.Target
	// Env is added to the environment of the program.
	Env []string
	// ByHeader gives every tensor a block of as many bytes as the generated header
	// says, not of as many as the case has.
	ByHeader bool
	// Unguarded lets kernels of custom operators write where they will, as fast as they can.
	Unguarded bool
}

// Name is "c".
func (C) Name() string { return "c" }

// Run implements [Way].
func (w C) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	runBatch(ctx, w.Settings, "c", jobs, w.build, done)
}

func (w C) target() toolchain.Target {
	if w.Target.Compiler == "" {
		return toolchain.GCC().With("-O1")
	}
	return w.Target
}

// build compiles each unit as one translation unit and links all of them.
func (w C) build(ctx context.Context, dir string,
	units []*unit) (*session.Program, []*unit, error) {
	target := w.target()
	if err := toolchain.FindAll(target.Compiler, target.Emulator); err != nil {
		return nil, nil, err
	}
	runner, err := session.WriteC(dir)
	if err != nil {
		return nil, nil, err
	}
	w.Settings.Options.Tell("compile C")
	custom := w.Settings.Options.Custom
	guards := custom != nil && len(custom.C) > 0 && !w.Unguarded
	objects := make([][]string, len(units))
	parallel(len(units), func(i int) {
		u := units[i]
		u.result.Err = guard(func() (err error) {
			target := target.With("-I" + dir)
			if guards {
				target = target.With(u.guardFlags()...)
			}
			objects[i], err = u.buildC(ctx, target, w.ByHeader)
			return err
		})
	})
	var ready []*unit
	var all []string
	for i, u := range units {
		if u.result.Err == nil {
			ready = append(ready, u)
			all = append(all, objects[i]...)
		}
	}
	if len(ready) == 0 {
		return nil, nil, ctx.Err()
	}
	table := filepath.Join(dir, "table.c")
	if err := os.WriteFile(table, []byte(cTable(ready)), 0o666); err != nil {
		return nil, nil, err
	}
	files := []string{runner, table}
	if guards {
		file, err := guarded(dir, ready)
		if err != nil {
			return nil, nil, err
		}
		if file != "" {
			files = append(files, file)
		}
	}
	common, err := target.With("-I"+dir).Compile(ctx, dir, files...)
	if err != nil {
		return nil, nil, err
	}
	kernels, err := w.linkedFiles(ctx, target.With("-I"+dir), dir, ready)
	if err != nil {
		return nil, nil, err
	}
	common = append(common, kernels...)
	exe := filepath.Join(dir, "models.exe")
	if err := target.Link(ctx, exe, append(common, all...)); err != nil {
		return nil, nil, err
	}
	return &session.Program{Command: target.Command(exe), Env: w.Env}, ready, nil
}

// linked returns an error if the program calls a custom operator without a kernel in C.
func linked(p *native.Program, k *custom.Kernels) error {
	for _, kernel := range p.Kernels {
		for _, call := range kernel.Invokes() {
			if call.Op.Name != ir.CallDelegate && !k.InC(call.Op.Name) {
				return fmt.Errorf("the custom operator %s has no kernel in C: write one, with a comment "+
					"/* %s %s */, and name its file with --kernels", foreign.Message(call.Op.Name), custom.Mark,
					foreign.Message(call.Op.String()))
			}
		}
	}
	return nil
}

// interfaceInclude is how a file of kernels or of a driver includes what declares its functions.
var interfaceInclude = regexp.MustCompile(`(?m)^\s*#\s*include\s*"(\w+_((?:ops|delegate)\.h))"`)

// linkedFiles compiles the user's kernels of custom operators, and drivers. The header that they
// include is one of a package of another name, so one of that name includes those of the units.
func (w C) linkedFiles(ctx context.Context, target toolchain.Target, dir string,
	units []*unit) (objects []string, err error) {
	names := slices.Clone(w.Settings.Drivers.C)
	if k := w.Settings.Options.Custom; k != nil {
		names = append(names, k.C...)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		needed := true
		for _, m := range interfaceInclude.FindAllStringSubmatch(string(text), -1) {
			headers := ""
			for _, u := range units {
				if file := u.name + "_" + m[2]; u.pkg.File(file) != nil {
					headers += fmt.Sprintf("#include \"%s/%s\"\n", u.name, file)
				}
			}
			needed = headers != ""
			if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(headers), 0o666); err != nil {
				return nil, err
			}
		}
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
		if !needed {
			continue
		}
		// The user's warnings are no errors of ours.
		compiled, err := target.With("-w").Compile(ctx, dir, name)
		if err != nil {
			return nil, diagnostic(ctx, err, dir)
		}
		objects = append(objects, compiled...)
	}
	return objects, nil
}

// buildC compiles the unit's package and its glue.
func (u *unit) buildC(ctx context.Context, target toolchain.Target,
	byHeader bool) ([]string, error) {
	header := u.pkg.File(u.name + ".h")
	if header == nil {
		return nil, fmt.Errorf("the generated package has no %s.h", u.name)
	}
	u.statuses = cStatuses(string(header), u.name)
	text := u.cGlueHead()
	methods, err := readCHeader(string(header), u.name)
	if err == nil && len(methods) != len(u.layouts) {
		err = fmt.Errorf("the generated header declares %d methods, not %d", len(methods),
			len(u.layouts))
	}
	if err != nil {
		return nil, err
	}
	for i, api := range methods {
		var blocks *cBlocks
		if byHeader {
			blocks = newCBlocks(string(header), u.name, api, u.layouts[i])
		}
		call, err := u.cGlue(api, i, blocks)
		if err != nil {
			return nil, err
		}
		text += call
	}
	glue := filepath.Join(u.dir, "glue.c")
	if err := os.WriteFile(glue, []byte(text), 0o666); err != nil {
		return nil, err
	}
	sources := []string{glue}
	for _, f := range u.pkg.Files {
		if strings.HasSuffix(f.Name, ".S") {
			sources = append(sources, filepath.Join(u.dir, f.Name))
		}
	}
	objects, err := target.Compile(ctx, u.dir, sources...)
	return objects, diagnostic(ctx, err, filepath.Dir(u.dir))
}

// diagnostic is the first message of a failed compilation in dir.
func diagnostic(ctx context.Context, err error, dir string) error {
	_, missing := errors.AsType[*toolchain.MissingError](err)
	if err == nil || ctx.Err() != nil || missing {
		return err
	}
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "error:") || strings.Contains(line, "Error:") {
			line = strings.TrimPrefix(strings.TrimSpace(line), dir+string(filepath.Separator))
			return fmt.Errorf("the C compiler: %s", line)
		}
	}
	return err
}

// cGlueHead begins the file that holds the unit's package and the functions
// that call it.
func (u *unit) cGlueHead() string {
	var b strings.Builder
	for _, f := range u.pkg.Files {
		if strings.HasSuffix(f.Name, ".c") && f.Name != u.name+"_profile.c" { // which cProbes is
			fmt.Fprintf(&b, "#include %q\n", f.Name)
		}
	}
	b.WriteString("#include <stdlib.h>\n#include <string.h>\n#include \"runner.h\"\n")
	if u.pkg.File(u.name+"_pal.h") != nil {
		b.WriteString(cPool(u.name))
	}
	if u.result.Steps != nil {
		b.WriteString(cProbes(u.name, u.steps))
	}
	for i := range u.layouts {
		fmt.Fprintf(&b, "runner_model call_%s_%d;\n", u.name, i)
	}
	if strings.Contains(string(u.pkg.File(u.name+".h")), u.name+"_state;") {
		fmt.Fprintf(&b, "\nstatic %s_state state;\n", u.name)
	}
	return b.String()
}

// cGlue writes the function that calls a method. blocks, if not nil, has the
// blocks for its tensors; else they are the arguments themselves.
func (u *unit) cGlue(api *cAPI, method int, blocks *cBlocks) (string, error) {
	l := u.layouts[method]
	var before, fill, args, after []string
	params := api.params
	take := func(what foreign.Text) (cParam, error) {
		if len(params) == 0 {
			return cParam{}, fmt.Errorf("%s has no parameter for %s", api.name, what)
		}
		p := params[0]
		params = params[1:]
		return p, nil
	}
	next := 0 // argument on the wire
	for i, p := range l.method.Inputs {
		if isConstant(p) {
			continue
		}
		if !cFixed(p) {
			c, err := take(p.Name)
			if err != nil {
				return "", err
			}
			args = append(args, c.value(next))
			if rows := l.method.Rows; rows != nil {
				args[len(args)-1] += fmt.Sprintf(" + done * %d", rows.Len)
				if _, err = take(p.Name); err != nil {
					return "", err
				}
				args = append(args, "some")
			} else if blocks != nil && p.Buf != nil {
				if args[len(args)-1], err = blocks.input(i, c, next); err != nil {
					return "", err
				}
			}
		}
		next++
	}
	for i, p := range l.method.Outputs {
		if p.Buf == nil && !isNumber(p) {
			continue
		}
		c, err := take(p.Name)
		if err != nil {
			return "", err
		}
		switch {
		case p.Buf != nil && blocks != nil:
			block, err := blocks.output(i, c, next)
			if err != nil {
				return "", err
			}
			args = append(args, block)
		case p.Buf != nil:
			args = append(args, c.value(next))
		default:
			before = append(before, fmt.Sprintf("%s number%d = 0;", c.base, next))
			args = append(args, fmt.Sprintf("&number%d", next))
			wide := "int64_t"
			if p.Type.Kind == ir.FloatKind {
				wide = "double"
			}
			after = append(after, fmt.Sprintf("*(%s *)args[%d] = (%s)number%d;", wide, next,
				wide, next))
		}
		next++
	}
	for _, c := range params {
		switch {
		case strings.HasPrefix(c.base, api.name+"_sizes"):
			if len(api.sizes) != l.dims() {
				return "", fmt.Errorf("%s has %d members, the model has %d dynamic dimensions",
					c.base, len(api.sizes), l.dims())
			}
			before = append(before, fmt.Sprintf("int64_t *dims = (int64_t *)args[%d];", next),
				c.base+" sizes;")
			for i, f := range api.sizes {
				fill = append(fill, fmt.Sprintf("sizes.%s = (%s)dims[%d];", f.name, f.base, i))
				after = append(after, fmt.Sprintf("dims[%d] = (int64_t)sizes.%s;", i, f.name))
			}
			args = append(args, "&sizes")
		case c.base == u.name+"_state":
			args = append(args, "&state")
		case c.base == u.name+"_arenas":
			before = append(before, c.base+" arenas;")
			upper := strings.ToUpper(u.name)
			for i, bank := range api.banks {
				before = append(before,
					fmt.Sprintf("arenas.%s = runner_arena(%du, %s_ARENA_%s_SIZE, %s_ARENA_ALIGN);",
						bank.name, i, upper, strings.ToUpper(bank.name), upper))
			}
			args = append(args, "&arenas")
		case c.base == "void" && c.pointer:
			before = append(before, fmt.Sprintf(
				"void *arena = runner_arena(0u, %[1]s_ARENA_SIZE, %[1]s_ARENA_ALIGN);",
				strings.ToUpper(u.name)))
			args = append(args, "arena")
		default:
			return "", fmt.Errorf("parameter %q is unknown", c.text)
		}
	}
	before = append(before, fill...)
	if blocks != nil {
		before = append(before, blocks.before...)
		after = append(after, blocks.after...)
	}
	if u.result.Steps != nil {
		if l.dims() > 0 {
			next++
		}
		before = append(before, "probe_begin(clock);")
		after = append(after, fmt.Sprintf("memcpy(args[%d], &probed, sizeof probed);", next))
	}
	call := fmt.Sprintf("status = %s(%s);", api.name, strings.Join(args, ", "))
	if rows := l.method.Rows; rows != nil {
		before = append(before, "uint32_t done = 0, some = 0;")
		call = fmt.Sprintf(rowsOfC, rows.Height, call, strings.ToUpper(u.name))
	}
	return u.cGlueText(api, method, before, call, after), nil
}

// rowsOfC hands over rows, of which there are so many: none, one, two and so on.
const rowsOfC = `for (uint32_t next = 0;; next = (next + 1) %% 12) {
		some = (next < %[1]d - done) ? next : %[1]d - done;
		%[2]s
		done += some;
		if (status != %[3]s_MORE) {
			break;
		}
	}`

func (u *unit) cGlueText(api *cAPI, method int, before []string, call string,
	after []string) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line("\nint call_%s_%d(void **args, int reset, runner_clock *clock, uint64_t *took)\n{",
		u.name, method)
	line("\t%s_status status;\n\tuint64_t start;", u.name)
	for _, s := range before {
		line("\t%s", s)
	}
	line("\t(void)args, (void)reset;")
	if len(u.result.Native.Delegates) > 0 {
		line("\tif (%s_delegates_init() != 0) {\n\t\treturn -1;\n\t}", u.name)
	}
	if api.reset {
		line("\tif (reset) {\n\t\t%s_reset(&state);\n\t}", u.name)
	}
	line("\tstart = clock();")
	line("\t%s", call)
	line("\t*took = clock() - start;")
	for _, s := range after {
		line("\t%s", s)
	}
	line("\treturn (int)status;\n}")
	return b.String()
}

// cFixed reports whether an input is a number with one value only, which the
// C function does not take.
func cFixed(p native.Port) bool {
	if p.Buf != nil || p.Sym != nil || p.Var != nil {
		return false
	}
	_, fixed := p.Type.Expr.Const()
	return p.Type.Kind != ir.IntKind || fixed
}

func cTable(units []*unit) string {
	var b strings.Builder
	b.WriteString("#include \"runner.h\"\n\n")
	var names []string
	for _, u := range units {
		for i := range u.layouts {
			names = append(names, fmt.Sprintf("call_%s_%d", u.name, i))
			fmt.Fprintf(&b, "runner_model %s;\n", names[len(names)-1])
		}
	}
	fmt.Fprintf(&b, "\nrunner_model *const runner_models[] = {\n\t%s\n};\n\n",
		strings.Join(names, ",\n\t"))
	fmt.Fprintf(&b, "const uint32_t runner_count = %d;\n", len(names))
	return b.String()
}
