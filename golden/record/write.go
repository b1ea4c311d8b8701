package record

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
)

// WriteOutputs writes output_K.npy or .bin for each tensor, and the same for
// inputs that the call changed. It returns a line for each output.
func WriteOutputs(dir string, r *way.CallResult, npy bool) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var lines []string
	for i, v := range r.Outputs {
		if v.Tensor == nil {
			lines = append(lines, fmt.Sprintf("output %d: %v", i, v))
			continue
		}
		path, err := writeTensor(filepath.Join(dir, fmt.Sprintf("output_%d", i)), v.Tensor, npy)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%s: %v", path, v))
	}
	for i, t := range r.Mutated {
		if t == nil {
			continue
		}
		path, err := writeTensor(filepath.Join(dir, fmt.Sprintf("mutated_input_%d", i)), t, npy)
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%s: %v", path, t))
	}
	return lines, nil
}

func writeTensor(base string, t *tensor.Tensor, npy bool) (string, error) {
	if !npy {
		return base + ".bin", os.WriteFile(base+".bin", t.Data, 0o666)
	}
	data, err := tensor.FormatNPY(t)
	if err != nil {
		return "", err
	}
	return base + ".npy", os.WriteFile(base+".npy", data, 0o666)
}

// Case writes a case of one call: model, inputs, outputs.
func Case(dir, model string, inputs []tensor.Value, r *way.CallResult, via string) error {
	files, err := modelFiles(model)
	if err != nil {
		return err
	}
	c := &testcase.Case{
		Dir: dir, Name: compile.NameOf(model), Note: "recorded by etgen itself, via " + via,
		Calls: []testcase.Call{{Inputs: inputs, Outputs: r.Outputs, Mutated: r.Mutated}},
	}
	if err := testcase.Write(c, ""); err != nil {
		return err
	}
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// modelFile is a file of a model, and its name in a case.
type modelFile struct{ from, name string }

// modelFiles returns the model itself and, of an ExecuTorch program with weights
// in other files, those.
func modelFiles(model string) ([]modelFile, error) {
	info, err := os.Stat(model)
	if err != nil {
		return nil, err
	}
	format := compile.FormatOf(model)
	switch {
	case !info.Mode().IsRegular():
	case format == compile.BundleFile:
		return []modelFile{{model, "model.bpte"}}, nil
	case format == compile.ProgramFile:
		files := []modelFile{{model, "model.pte"}}
		p, closer, err := pte.Open(model)
		if err != nil {
			return nil, err
		}
		defer closer.Close()
		beside, err := compile.DataBeside(p, model)
		for _, path := range beside {
			files = append(files, modelFile{path, filepath.Base(path)})
		}
		return files, err
	case filepath.Ext(model) == ".pt2":
		return []modelFile{{model, "model.pt2"}}, nil
	}
	return nil, fmt.Errorf("%s: only a .pt2, .pte or .bpte file can become part of a case", model)
}
