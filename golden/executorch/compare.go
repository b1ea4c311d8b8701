package executorch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/pte"
)

// Pair is a model that there are both of: the export, and the program that
// ExecuTorch's exporter made of it.
type Pair struct {
	Name    string // of the program's folder: "lenet", "lenet.external"
	Model   string // path of the .pt2
	Program string // path of the .pte
}

// external reports whether the pair's programs have their weights beside them.
func (p Pair) external() bool { return strings.HasSuffix(p.Name, ".external") }

// Pairs finds the pairs in a folder of cases: programs under pte, the models
// under models. A program's folder may have a word after the model's name that
// says how it was made: "lenet.constprop".
func Pairs(cases string) ([]Pair, error) {
	folders, err := os.ReadDir(filepath.Join(cases, "pte"))
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for _, f := range folders {
		model, _, _ := strings.Cut(f.Name(), ".")
		p := Pair{
			Name:    f.Name(),
			Model:   filepath.Join(cases, "models", model, "model.pt2"),
			Program: filepath.Join(cases, "pte", f.Name(), "model.pte"),
		}
		if there(p.Model) && there(p.Program) {
			pairs = append(pairs, p)
		}
	}
	return pairs, nil
}

func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Row is what a comparison finds.
type Row struct {
	Name          string
	Etgen, Theirs Figures
	// Model are etgen's figures for the bounds that the model has, where
	// ExecuTorch's program has others: then Etgen is for the same as theirs.
	Model *Figures
}

// Compare compiles the model of a pair and measures both programs.
func (p Pair) Compare() (Row, error) {
	row := Row{Name: p.Name}
	var err error
	if row.Theirs, err = p.theirs(); err == nil {
		row.Etgen, err = p.etgen()
	}
	if err == nil && row.Etgen.Inputs != row.Theirs.Inputs {
		of := row.Etgen
		row.Model = &of
		row.Etgen, err = Pair{Name: p.Name, Model: p.Program}.etgen()
	}
	if err != nil {
		return row, fmt.Errorf("%s: %w", p.Name, err)
	}
	return row, nil
}

func (p Pair) theirs() (Figures, error) {
	program, closer, err := pte.Open(p.Program)
	if err != nil {
		return Figures{}, err
	}
	defer closer.Close()
	files := []string{p.Program}
	if p.external() {
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(p.Program), "*.ptd"))
		if err != nil {
			return Figures{}, err
		}
		files = append(files, beside...)
	}
	var size int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return Figures{}, err
		}
		size += info.Size()
	}
	return Measure(program, size)
}

func (p Pair) etgen() (Figures, error) {
	model, closer, err := compile.Read(p.Model)
	if err != nil {
		return Figures{}, err
	}
	defer closer.Close()
	pkg, err := compile.Package(model, compile.Options{Lang: "pte", ExternalWeights: p.external()})
	if err != nil {
		return Figures{}, err
	}
	var size int64
	for _, f := range pkg.Files {
		size += int64(len(f.Data))
	}
	at := slices.IndexFunc(pkg.Files, func(f codegen.File) bool {
		return strings.HasSuffix(f.Name, ".pte")
	})
	file := pkg.Files[at].Data
	program, err := pte.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return Figures{}, err
	}
	return Measure(program, size)
}
