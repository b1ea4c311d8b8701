package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
)

// Outputs returns output_K.npy or .bin for each tensor, and the same for inputs
// that the call changed, as files of the folder dir, and a line for each output.
func Outputs(dir string, r *way.CallResult, npy bool) (*codegen.Package, []string, error) {
	pkg := &codegen.Package{Name: "outputs", Kind: codegen.KindOutputs}
	var lines []string
	add := func(name string, t *tensor.Tensor) error {
		f, err := tensorFile(name, t, npy)
		if err != nil {
			return err
		}
		pkg.Files = append(pkg.Files, f)
		lines = append(lines, fmt.Sprintf("%s: %v", filepath.Join(dir, f.Name), t))
		return nil
	}
	for i, v := range r.Outputs {
		if v.Tensor == nil {
			lines = append(lines, fmt.Sprintf("output %d: %v", i, v))
		} else if err := add(fmt.Sprintf("output_%d", i), v.Tensor); err != nil {
			return nil, nil, err
		}
	}
	for i, t := range r.Mutated {
		if t == nil {
			continue
		}
		if err := add(fmt.Sprintf("mutated_input_%d", i), t); err != nil {
			return nil, nil, err
		}
	}
	return pkg, lines, nil
}

func tensorFile(base string, t *tensor.Tensor, npy bool) (codegen.File, error) {
	if !npy || !tensor.HasNPY(t.DType) {
		return codegen.File{Name: base + ".bin", Data: t.Data}, nil
	}
	data, err := tensor.FormatNPY(t)
	return codegen.File{Name: base + ".npy", Data: data}, err
}

// Case writes a case of one call: model, inputs, outputs.
func Case(ctx context.Context, dir, model string, inputs []tensor.Value, r *way.CallResult,
	via string) error {
	files, err := modelFiles(model)
	if err != nil {
		return err
	}
	c := &testcase.Case{
		Dir: dir, Name: compile.NameOf(model), Note: testcase.Own + ", via " + via,
		Calls: []testcase.Call{{Inputs: inputs, Outputs: r.Outputs, Mutated: r.Mutated}},
	}
	var models []codegen.File
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		models = append(models, codegen.File{Name: f.name, Data: data})
	}
	return testcase.Write(ctx, c, "", models...)
}

// Update computes the calls of a case anew, which are those of job, and writes what they give over
// the recorded outputs. It returns the files that differ.
func Update(ctx context.Context, w way.Way, c *testcase.Case, job way.Job) ([]string, error) {
	var result *way.Result
	w.Run(ctx, []way.Job{job}, func(_ int, r *way.Result) { result = r })
	switch {
	case result == nil:
		return nil, context.Cause(ctx)
	case result.Err != nil:
		return nil, fmt.Errorf("%s: %w", c.Dir, result.Err)
	}
	for i := range c.Calls {
		r := &result.Calls[i]
		if r.Err != nil {
			return nil, fmt.Errorf("%s: call %d: %w", c.Dir, i, r.Err)
		}
		c.Calls[i].Outputs, c.Calls[i].Mutated = r.Outputs, r.Mutated
	}
	return testcase.Update(ctx, c)
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
