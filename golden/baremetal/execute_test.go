package baremetal

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/toolchain"
)

const limit = 30 * time.Second

var tinySources = []string{"testdata/tiny.c", "testdata/tiny_weights.S"}

func tinyModel() Model {
	return Model{Header: "tiny.h", Prefix: "tiny", Method: "forward", Args: []Arg{
		{Role: Input}, {Role: Value}, {Role: Output, Bytes: 48}, {Role: InOut, Bytes: 4},
		{Role: Dims}, {Role: State}, {Role: Arena},
	}}
}

// tinyRuns are three calls, the third of a shape that the model refuses.
func tinyRuns(t *testing.T) []RunInput {
	dir := t.TempDir()
	file := func(name string, values ...float32) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, floatBytes(values...), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Quotes and blanks in a path have to reach the assembler.
	x := file(`x "1"\ b.bin`, 2, 4, 6, 8, 1, 1, 1, 1)
	return []RunInput{
		{Inputs: []string{x, file("last0.bin", -100)}, Values: []string{"2.0f"},
			Dims: "{ .batch = 2 }", OutputBytes: []int{24, 4}},
		{Inputs: []string{x, file("last1.bin", 50)}, Values: []string{"0.5f"},
			Dims: "{ .batch = 1 }", OutputBytes: []int{12, 4}},
		{Inputs: []string{x, file("last2.bin", 7)}, Values: []string{"1.0f"},
			Dims: "{ .batch = 9 }"},
	}
}

func floatBytes(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func TestExecute(t *testing.T) {
	// The board's core runs the code of the smaller one, so soft float is
	// tested as well.
	for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.CortexM0()} {
		t.Run(target.Name, func(t *testing.T) {
			report, err := tinyModel().Execute(t.Context(), target, t.TempDir(), tinySources,
				tinyRuns(t), limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Doubles) != 0 {
				t.Errorf("double-precision functions linked: %v", report.Doubles)
			}
			// By hand: W x/scale + calls·b, exact in binary.
			want := []RunOutput{
				{Outputs: [][]byte{floatBytes(1+4-3+2+1, 2+3-8-1, .25-12+32+.5, .5+1-.5+.25+1,
					.5+.5-1-1, .125-2+4+.5), floatBytes(20.75)}},
				{Outputs: [][]byte{floatBytes(4+16-12+8+2, 8+12-32-2, 1-48+128+1), floatBytes(82)}},
				{Status: 2, Outputs: [][]byte{slices.Repeat([]byte{0xA5}, 48), floatBytes(7)}},
			}
			for i, run := range report.Runs {
				if run.Status != want[i].Status || !slices.EqualFunc(run.Outputs, want[i].Outputs,
					slices.Equal) {
					t.Errorf("run %d: got %v, want %v", i, run, want[i])
				}
			}
			if report.Stack < 16 || report.Stack > 256 {
				t.Errorf("stack of %d bytes", report.Stack)
			}
			// 15 weights and, of soft float, a table; a word and an array.
			if report.Sizes.ROData < 60 || report.Sizes.Data != 4 || report.Sizes.BSS != 20 {
				t.Errorf("sizes %+v", report.Sizes)
			}
		})
	}
}

func TestExecuteFindsOverruns(t *testing.T) {
	model := tinyModel()
	model.Args[2].Bytes = 12
	runs := tinyRuns(t)[:1]
	runs[0].OutputBytes = nil
	_, err := model.Execute(t.Context(), toolchain.CortexM4(), t.TempDir(), tinySources,
		runs, limit)
	if err == nil || !strings.Contains(err.Error(), "run 0 wrote past the end of output0") {
		t.Errorf("got error %v", err)
	}
}

func TestHarnessRefusesWrongArguments(t *testing.T) {
	for name, change := range map[string]func(*Model, *RunInput){
		"no header":    func(m *Model, _ *RunInput) { m.Header = "" },
		"few inputs":   func(_ *Model, r *RunInput) { r.Inputs = r.Inputs[:1] },
		"many inputs":  func(_ *Model, r *RunInput) { r.Inputs = append(r.Inputs, "x") },
		"few values":   func(_ *Model, r *RunInput) { r.Values = nil },
		"many values":  func(_ *Model, r *RunInput) { r.Values = []string{"1", "2"} },
		"no dims":      func(_ *Model, r *RunInput) { r.Dims = "" },
		"few sizes":    func(_ *Model, r *RunInput) { r.OutputBytes = []int{4} },
		"large sizes":  func(_ *Model, r *RunInput) { r.OutputBytes = []int{49, 4} },
		"unknown role": func(m *Model, _ *RunInput) { m.Args[0].Role = "?" },
	} {
		model, runs := tinyModel(), tinyRuns(t)
		change(&model, &runs[0])
		if _, err := model.Harness(runs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParseOutputRefusesDamage(t *testing.T) {
	good := "run 0 status 0 stack 8\noutput 3\n0102ff\nend\n"
	runs, err := parseOutput(good)
	if err != nil || len(runs) != 1 || !slices.Equal(runs[0].Outputs[0], []byte{1, 2, 255}) {
		t.Fatalf("got %v, %v", runs, err)
	}
	for _, bad := range []string{
		"", "run 0 status 0 stack 8\n", "output 1\n00\nend\n", "run 1 status 0 stack 8\nend\n",
		"noise\nend\n", "run 0 status 0 stack 8\noutput 3\n01\nend\n",
		"run 0 status 0 stack 8\noutput 1\n0102\nend\n",
		"run 0 status 0 stack 8\noverrun arena\nend\n",
	} {
		if runs, err := parseOutput(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, runs)
		}
	}
}
