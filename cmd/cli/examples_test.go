package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
)

// exampleFolder is what examples run in: a folder with files of the names in them.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	kase := func(name string) string { return filepath.Join("../../golden/cases", name) }
	link := func(from string, names ...string) {
		for _, name := range names {
			to := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				t.Fatal(err)
			}
			from, err := filepath.Abs(from)
			if err == nil {
				err = os.Symlink(from, to)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	link(kase("lenet/model.pt2"), "model.pt2", "b.pt2", "kws.pt2", "net.pt2", "llm.pt2",
		"vww.pt2")
	link(kase("mlp784/model.pt2"), "lenet.pt2") // with weights that get a file of their own
	link(kase("add/model.pt2"), "a.pt2")
	link(kase("methods_shared/prefill.pt2"), "prefill.pt2")
	link(kase("methods_shared/decode.pt2"), "decode.pt2")
	link(kase("lenet/input_0.bin"), "x.bin")
	link("../../golden/custom/fir", "fir")
	for to, name := range map[string]string{"testdata/add": "add", "cases/lenet": "lenet"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(kase(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"--method encode=model.pt2 --lang=pte --name=model", "a.pt2 --lang=pte", "b.pt2 --lang=pte",
		"lenet.pt2 --lang=pte", "model.pt2 --lang=pte --name=kws",
	} {
		runExample(t, dir,
			"etgen "+args+" --etrecord -o programs && cp programs/*.pte programs/*.etrecord .")
	}
	c, err := testcase.Read(kase("lenet"))
	if err != nil {
		t.Fatal(err)
	}
	x, y := c.Calls[0].Inputs[0].Tensor, c.Calls[0].Outputs[0].Tensor
	npy, err := tensor.FormatNPY(x)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(dir, "b.pte"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"x.npy": npy, "model.bpte": bundleOf(t, program,
		x, y, 3)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	runExample(t, dir, "etgen quantize kws.pt2 --calibrate=x.npy -o recipe.json")
	runExample(t, dir,
		"etgen run model.pte -i x.bin -o ran --etdump=run.etdp --debug-buffer=run.etdp.debug")
	runExample(t, dir, "etgen golden record a.pt2 -o testdata/own --via=eval")
	runExample(t, dir, "etgen bench model.pt2 --via=c --for=1ms --json > time.json")
	return dir
}

// bundleOf returns a .bpte of a program and n test cases of its method forward.
func bundleOf(t *testing.T, program []byte, x, y *tensor.Tensor, n int) []byte {
	value := func(v *tensor.Tensor) []pte.TestValue {
		return []pte.TestValue{&pte.TestTensor{ScalarType: 6, // float32
			Sizes:    seq.Of(len(v.Shape), func(i int) int32 { return int32(v.Shape[i]) }),
			DimOrder: seq.Of(len(v.Shape), func(i int) uint8 { return uint8(i) }),
			Data:     ir.Bytes(v.Data)}}
	}
	var file bytes.Buffer
	if err := pte.WriteBundle(&file, ir.Bytes(program), []pte.TestSuite{{Method: "forward",
		Cases: slices.Repeat([]pte.TestCase{{Inputs: value(x), Outputs: value(y)}}, n)}}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// runExample runs lines in dir as a user's shell does, and returns what they print.
func runExample(t *testing.T, dir, lines string) string {
	t.Helper()
	if strings.HasPrefix(lines, "etgen bench ") { // another program may take the time away
		lines = strings.ReplaceAll(lines, "--max-growth=15", "--max-growth=1000")
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c",
		`trap 'echo "fails: $BASH_COMMAND" >&2' ERR; trap 'kill $(jobs -p) || :' EXIT 2>/dev/null`+
			"\n"+lines)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.WaitDelay = time.Second // for a server that goes on
	err := cmd.Run()
	differ := strings.HasPrefix(lines, "etgen diff ") && cmd.ProcessState.ExitCode() == exitMiss
	if err != nil && !differ {
		t.Errorf("%s: %v\n%s%s", lines, err, &out, &errs)
	}
	return out.String()
}

// prepare copies the folder for a line whose names stand for something else than
// in others, and returns the copy.
func prepare(t *testing.T, from, line string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.",
		dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	replace := func(name, kase string) {
		path, err := filepath.Abs(filepath.Join("../../golden/cases", kase))
		if err == nil {
			os.Remove(filepath.Join(dir, name))
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(line, "tokens.bin") { // a model that takes a number too
		replace("model.pt2", "symbolic_int/model.pt2")
		replace("tokens.bin", "symbolic_int/input_0.bin")
	}
	if strings.Contains(line, "x.npy[") { // a list of samples, and their labels
		x, err1 := tensor.New(ir.Float32, 200, 1, 1, 12, 12)
		y, err2 := tensor.New(ir.Int8, 200)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for i := 3; i < len(x.Data); i += 4 {
			x.Data[i] = byte(i%7) << 3 // floats of many sizes
		}
		for name, list := range map[string]*tensor.Tensor{"x.npy": x, "y.npy": y} {
			data, err := tensor.FormatNPY(list)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.Contains(line, "golden/cases") {
		if err := os.Mkdir(filepath.Join(dir, "golden"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "cases"), filepath.Join(dir, "golden/cases")); err !=
			nil {
			t.Fatal(err)
		}
	}
	return dir
}

// generateIn makes dir a Go module that has etgen as a tool and runs go generate
// on a file with the line. What is there then builds.
func generateIn(t *testing.T, dir, line string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// A workspace, so that etgen is not compiled anew as another module's.
	for name, data := range map[string]string{
		"go.mod":  "module example.com/app\n\ngo 1.26.0\n\ntool github.com/etgen/etgen/cmd/etgen\n",
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t" + strconv.Quote(root) + "\n)\n",
		"app.go":  "// Package app has a model.\npackage app\n\n" + line + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	runExample(t, dir, "go generate && go vet ./... && go build ./...")
	if generated, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(generated) < 2 {
		if generated, _ = filepath.Glob(filepath.Join(dir, "*", "*.go")); len(generated) == 0 {
			t.Errorf("%s: writes no Go", line)
		}
	}
}

// elsewhere reports whether a line needs a machine or a compiler that is not here.
func elsewhere(line string) bool {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for word, flag := range map[string]string{"-mavx2": "avx2", "x86-64-v4": "avx512f"} {
		if strings.Contains(line, word) && (runtime.GOARCH != "amd64" ||
			!strings.Contains(string(info), flag)) {
			return true
		}
	}
	wants := ""
	for _, command := range []string{"arm-none-eabi-gcc", "qemu-system-arm", "chromium", "curl"} {
		if strings.HasPrefix(line, command+" ") {
			wants = command
		}
	}
	if strings.Contains(line, "etgen size ") || strings.Contains(line, "--max-stack") {
		wants = "arm-none-eabi-gcc"
	}
	_, err := exec.LookPath(wants)
	return wants != "" && err != nil
}

// Every example of every help page works as printed, in a folder that has files of
// those names.
func TestExamples(t *testing.T) {
	tier.Needs(t, tier.Normal)
	folder := exampleFolder(t)
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); line == "" || elsewhere(line) {
				continue
			}
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				dir := prepare(t, folder, line)
				if strings.HasPrefix(line, "//go:generate ") {
					generateIn(t, dir, line)
				} else {
					runExample(t, dir, line)
				}
			})
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&app{}))
}
