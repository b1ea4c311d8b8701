package testcase

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
)

func TestReadCheckedIn(t *testing.T) {
	dirs, err := Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) < 50 {
		t.Fatalf("found %d cases", len(dirs))
	}
	stateful, scalars, mutated := 0, 0, 0
	for _, dir := range dirs {
		c, err := Read(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Stateful {
			stateful++
		}
		for _, call := range c.Calls {
			for i, v := range call.Inputs {
				if v.Tensor == nil {
					scalars++
				}
				if call.Mutated[i] != nil {
					mutated++
				}
			}
		}
	}
	if stateful == 0 || scalars == 0 || mutated == 0 {
		t.Errorf("%d stateful cases, %d scalar inputs, %d mutated inputs", stateful,
			scalars, mutated)
	}
}

func TestWriteRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	x := &tensor.Tensor{DType: ir.Int16, Shape: []int64{2}, Data: []byte{1, 0, 2, 0}}
	y := &tensor.Tensor{DType: ir.Bool, Shape: []int64{}, Data: []byte{1}}
	want := &Case{
		Dir: dir, Name: "n", Note: "stateful; so", Stateful: true, Models: []string{"model.pt2"},
		Slack: 0.5,
		Calls: []Call{{
			Label:  "a",
			Inputs: []tensor.Value{{Tensor: x}, {Scalar: ir.Int(3)}, {Scalar: ir.None{}}},
			Outputs: []tensor.Value{{Tensor: y}, {Scalar: ir.Float(math.Inf(-1))},
				{Scalar: ir.Float(0.25)}},
			Mutated: []*tensor.Tensor{x, nil, nil},
		}, {
			Inputs:  []tensor.Value{{Tensor: x}, {Scalar: ir.Str("s")}, {Scalar: ir.BoolArg(true)}},
			Outputs: []tensor.Value{{Tensor: y}},
			Mutated: []*tensor.Tensor{nil, nil, nil},
		}},
	}
	if err := Write(t.Context(), want, "none"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.pt2"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := Write(t.Context(), want, "none"); !errors.Is(err, ErrExists) {
		t.Errorf("writing again: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	for name, c := range map[string]struct{ meta, want string }{
		"json": {`{`, "unexpected end"},
		"dtype": {`{"inputs":[{"kind":"tensor","dtype":"float33","shape":[1],"file":"x.bin"}]}`,
			"float33"},
		"short": {`{"inputs":[{"kind":"tensor","dtype":"float32","shape":[2],"file":"x.bin"}]}`,
			"has 4"},
		"absent": {`{"inputs":[{"kind":"tensor","dtype":"float32","shape":[1],"file":"y.bin"}]}`,
			"y.bin"},
		"outside": {`{"inputs":[{"kind":"tensor","dtype":"float32","shape":[1],"file":"../x.bin"}]}`,
			"not in the case"},
		"kind": {`{"outputs":[{"kind":"list"}]}`, `kind "list"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"meta.json": c.meta, "x.bin": "1234",
				"model.pt2": ""} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Read(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
