package boards

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
)

// C that calls CMSIS-NN gives the same bytes on boards as C of etgen's own. ETGEN_CMSIS_NN_SOURCES
// names the library's sources. The log has what either takes, which docs/backends.md tells.
func TestCMSISNNCounts(t *testing.T) {
	sources := os.Getenv("ETGEN_CMSIS_NN_SOURCES")
	if sources == "" {
		t.Skip("ETGEN_CMSIS_NN_SOURCES names no sources of CMSIS-NN")
	}
	for _, on := range countedOn {
		if !on.floats || on.optimize != "speed" {
			continue
		}
		skipWithout(t, on.target.Compiler, on.board.Emulator)
		target := on.target.With("-O3", "-isystem", filepath.Join(sources, "Include"))
		library := libraryOf(t, target, filepath.Join(sources, "Source"))
		for _, m := range counted {
			if !m.bytes || m.kind || !m.quantize && !strings.HasSuffix(m.dir, "_static") {
				continue
			}
			t.Run(modelName(m.dir)+"/"+on.name, func(t *testing.T) {
				c := readCase(t, m.dir)
				compareCMSISNN(t, c, m.quantize, on.name, on.board, target, library)
			})
		}
	}
}

// compareCMSISNN runs a case compiled for the library and for etgen's own kernels.
func compareCMSISNN(t *testing.T, c *testcase.Case, quantized bool, on string,
	board baremetal.Board, target toolchain.Target, library string) {
	own := generated{name: compile.NameOf(filepath.Base(c.Dir)), optimize: "speed",
		requant: compile.LibraryCMSISNN}
	if quantized {
		own.recipe = recipeOf(t, c)
		c = inIntegers(t, c, own.recipe)
	}
	own.kase = interpreted(t, c, compile.Options{Requantize: compile.LibraryCMSISNN,
		Recipe: own.recipe})
	theirs := own
	theirs.library = compile.LibraryCMSISNN
	linked := target
	linked.Libs = append([]string{library}, target.Libs...)
	var results [2][]baremetal.RunOutput
	for i, g := range []*generated{&own, &theirs} {
		g.generate(t, target)
		work := t.TempDir()
		runs, err := g.runs(work)
		if err != nil {
			t.Fatal(err)
		}
		report, err := g.model.ExecuteOn(t.Context(), board, true, linked, work, g.sources,
			runs[:1], 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		checkOutputs(t, g, report, false)
		for k := range report.Runs {
			report.Runs[k].Stack = 0
		}
		results[i] = report.Runs
		t.Logf("%s %s: %d instructions, %d bytes of code, %d of the arena, library %q",
			g.name, on, report.Instructions, report.Sizes.Text, g.arena.Size, g.library)
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Error("the library gives other bytes")
	}
}

// libraryOf compiles the C files below a folder, those for integers, to a library.
func libraryOf(t *testing.T, target toolchain.Target, folder string) string {
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".c") && !strings.Contains(path, "_f16") &&
			!strings.Contains(path, "_f32") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Hosted, memcpy of four bytes is an instruction.
	objects, err := target.With("-w", "-fhosted").Compile(t.Context(), dir, files...)
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libcmsis-nn.a")
	args := append([]string{"rcs", library}, slices.Clone(objects)...)
	if out, err := exec.CommandContext(t.Context(), "ar", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}
