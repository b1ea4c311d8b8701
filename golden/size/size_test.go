package size

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

const cases = "../cases/"

// generate compiles a case's model into a folder.
func generate(t *testing.T, name string, opt compile.Options) (dir string) {
	t.Helper()
	p, closer, err := compile.Read(cases + name + "/model.pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt.Name, opt.Lang = "net", "c"
	opt.Generator = "etgen --target=" + opt.Target
	pkg, err := compile.Package(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func skipWithout(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if _, err := toolchain.Find(c); err != nil {
			t.Skip(err)
		}
	}
}

// A folder says what it was made for. Its sizes are the same wherever weights and code are put,
// but for alignment, and with clang they are of the same order.
func TestFolder(t *testing.T) {
	tier.Needs(t, tier.Normal)
	skipWithout(t, "arm-none-eabi-gcc", "clang")
	dir := generate(t, "lenet", compile.Options{Target: "cortex-m4"})
	s, err := Folder(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Target != "cortex-m4" || s.Flash != s.Text+s.ROData+s.Data || s.RAM != s.Arena ||
		s.Arena == 0 ||
		s.Stack < 64 || s.Stack > 768 || len(s.Library)+len(s.Unbounded) > 0 ||
		s.Chain[0] != "net_forward" {
		t.Errorf("%+v", s)
	}
	for _, opt := range []compile.Options{{Weights: "bin"}, {Weights: "asm"},
		{Sections: map[codegen.SectionKind]string{"code": ".itcm", "weights": ".qspi"}}} {
		opt.Target = "cortex-m4"
		x, err := Folder(t.Context(), generate(t, "lenet", opt), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if far := x.Flash - s.Flash; far < -200 || far > 200 || x.Stack < s.Stack-64 ||
			x.Stack > s.Stack+64 {
			t.Errorf("%+v: flash %d, stack %d, want %d and %d", opt, x.Flash, x.Stack, s.Flash, s.Stack)
		}
	}
	clang, err := Folder(t.Context(), dir, Options{CC: "clang",
		CFlags: []string{"--target=thumbv7em-none-eabihf", "-Os"}})
	if err != nil {
		t.Fatal(err)
	}
	if clang.Flash < s.Flash-2000 || clang.Flash > s.Flash+2000 ||
		!strings.HasPrefix(clang.Compiler, "clang") {
		t.Errorf("clang: %+v", clang)
	}
	var text bytes.Buffer
	if err := s.Print(&text, false); err != nil || !strings.Contains(text.String(), "flash  = .text") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

// State and threads are the application's: the state counts as RAM, what runs parts does not.
func TestState(t *testing.T) {
	tier.Needs(t, tier.Normal)
	skipWithout(t, "arm-none-eabi-gcc")
	s, err := Folder(t.Context(), generate(t, "cache", compile.Options{Target: "cortex-m4"}),
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.State == 0 || s.RAM != s.Arena+s.State {
		t.Errorf("%+v", s)
	}
	dir := generate(t, "lenet", compile.Options{Target: "generic", Threads: 2, DivideAll: true})
	if _, err := os.Stat(filepath.Join(dir, "net_pal.h")); err != nil {
		t.Fatal(err)
	}
	threads, err := Folder(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if threads.Target != "generic" || threads.Flash == 0 {
		t.Errorf("%+v", threads)
	}
}

// What is missing is told.
func TestFolderErrors(t *testing.T) {
	var folder *FolderError
	if _, err := Folder(t.Context(), t.TempDir(), Options{}); !errors.As(err, &folder) {
		t.Errorf("an empty folder: %v", err)
	}
	dir := generate(t, "lenet", compile.Options{Target: "cortex-m4"})
	if _, err := Folder(t.Context(), dir, Options{Name: "other"}); !errors.As(err, &folder) {
		t.Errorf("another name: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	var missing *toolchain.MissingError
	if _, err := Folder(t.Context(), dir, Options{}); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "gcc-arm-none-eabi") {
		t.Errorf("without a compiler: %v", err)
	}
}

// A budget that is too small fails with what takes the bytes and what would help: that alone.
// Without a compiler memory is known and flash is estimated, and the stack is not.
func TestBudget(t *testing.T) {
	tier.Needs(t, tier.Normal)
	open := func() (*ir.Program, io.Closer, error) { return compile.Read(cases + "lenet/model.pt2") }
	opt := compile.Options{Name: "net", Lang: "c", Target: "cortex-m4", Optimize: "speed"}
	other := func(change func(*compile.Options)) func() (compile.Options, error) {
		return func() (compile.Options, error) { o := opt; change(&o); return o, nil }
	}
	alternatives := []Alternative{
		{"--optimize=size", other(func(o *compile.Options) { o.Optimize = "size" })},
		{"the same", other(func(*compile.Options) {})},
		{"none", func() (compile.Options, error) { return opt, errors.New("it cannot be") }},
	}
	check := func(b Budget) (*codegen.Package, error) {
		pkg, _, err := Check(t.Context(), open, opt, Options{}, b, alternatives)
		return pkg, err
	}
	over := func(b Budget) *OverError {
		t.Helper()
		pkg, err := check(b)
		e, ok := errors.AsType[*OverError](err)
		if !ok || pkg != nil {
			t.Fatalf("%+v: %v", b, err)
		}
		return e
	}
	t.Run("measured", func(t *testing.T) {
		skipWithout(t, "arm-none-eabi-gcc")
		pkg, err := check(Budget{RAM: 1 << 20, Flash: 1 << 20, Stack: 1 << 20})
		if err != nil || len(pkg.Files) == 0 {
			t.Fatal(err)
		}
		e := over(Budget{Flash: 3000})
		if e.Taken.Measured == nil || !strings.Contains(e.Error(), "bytes of flash, of 3000") {
			t.Errorf("%v", e)
		}
		for _, h := range e.Helps {
			if h.Words != "--optimize=size" || h.Taken.Flash >= e.Taken.Flash || h.Enough {
				t.Errorf("%+v helps", h)
			}
		}
		if len(e.Helps) != 1 {
			t.Errorf("%d alternatives help", len(e.Helps))
		}
		text := must.Get(print(e))
		if !strings.Contains(text, "measured: ") || !strings.Contains(text, "--optimize=size") {
			t.Error(text)
		}
		if e := over(Budget{RAM: 100, Stack: 8}); len(e.Budget.over(e.Taken)) != 2 {
			t.Errorf("%v", e)
		}
	})
	t.Run("estimated", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		e := over(Budget{RAM: 100})
		text := must.Get(print(e))
		if e.Taken.Measured != nil || e.Taken.RAM != e.Report.Arena ||
			!strings.Contains(text, "not measured: arm-none-eabi-gcc is not installed") {
			t.Error(text)
		}
		if _, err := check(Budget{Stack: 4096}); err == nil ||
			!strings.Contains(err.Error(), "not installed") {
			t.Errorf("a stack without a compiler: %v", err)
		}
	})
}

func print(e *OverError) (string, error) {
	var b bytes.Buffer
	err := e.Print(&b)
	return b.String(), err
}

// Separate models and what they share are measured together, with what is each model's; one of
// them is a package, too, and takes less.
func TestSeparate(t *testing.T) {
	tier.Needs(t, tier.Normal)
	skipWithout(t, "arm-none-eabi-gcc")
	whole := func(opt compile.Options) (*Size, *report.Report, string) {
		p, closer, err := compile.ReadMethods([]compile.MethodFile{
			{Name: "digits", Path: cases + "digits/model.pt2"},
			{Name: "digits_kept", Path: cases + "cache/model.pt2"},
			{Name: "digits_twice", Path: cases + "digits/model.pt2"},
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		opt.Name, opt.Lang, opt.Separate, opt.Target = "digits_all", "c", true, "cortex-m4"
		opt.Generator = "etgen --target=cortex-m4"
		pkg, r, err := compile.Reported(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := pkg.Write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		s, err := Folder(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Layers(r)
		return s, r, dir
	}
	for _, opt := range []compile.Options{{}, {Weights: "bin", Profile: true}} {
		s, r, dir := whole(opt)
		layers := map[string]int64{}
		code := int64(0)
		for _, m := range r.Methods {
			for _, l := range m.Layers {
				layers[m.Name.String()] += l.Weights
				code += l.Code
			}
		}
		if s.Name != "digits_all" || s.Arena != r.Arena || s.State != r.State || s.State == 0 ||
			s.RAM != s.Arena+s.State+s.BSS || s.Flash != r.Weights+r.Code || code == 0 || code > s.Text {
			t.Errorf("%+v: layers have %d bytes of code, %+v", opt, code, s)
		}
		one, err := Folder(t.Context(), dir, Options{Name: "digits"})
		if err != nil {
			t.Fatal(err)
		}
		if layers["digits"] != layers["digits_twice"] || r.Weights < 2*layers["digits"] ||
			one.ROData < layers["digits"] || one.Flash > s.Flash-layers["digits"] || one.State != 0 ||
			one.Stack != s.Stack || one.Chain[0] != "digits_forward" {
			t.Errorf("%+v: of one model %+v, of all %+v, weights %v", opt, one, s, layers)
		}
	}
}

// What sums up times is a part of the package, whatever clock the machine has.
func TestProfile(t *testing.T) {
	tier.Needs(t, tier.Normal)
	skipWithout(t, "arm-none-eabi-gcc")
	for _, target := range []string{"cortex-m4", "cortex-m0"} {
		s, err := Folder(t.Context(), generate(t, "linear", compile.Options{Target: target,
			Profile: true}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.BSS == 0 || s.RAM != s.Arena+s.BSS || slices.Contains(s.Library, "net_profile_event") {
			t.Errorf("%s: %+v", target, s)
		}
	}
}
