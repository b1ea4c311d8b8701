package pte

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/lower/raise"
)

// DebugMap tells what the instructions of a program stand for. It lies beside the
// program, as NAME.debug.json: the program itself has no room for it.
type DebugMap struct {
	Program string        `json:"program"` // base name of its file
	Methods []DebugMethod `json:"methods"`
	// Handles are of each method the debug handle of each instruction that has
	// one, by its index: what ExecuTorch's tools call debug_handle_map.
	Handles map[string]map[int]int `json:"debug_handle_map"`
}

// DebugMethod is a method of a [DebugMap], with all its instructions in order.
type DebugMethod struct {
	Name         string             `json:"name"`
	Instructions []DebugInstruction `json:"instructions"`
}

// DebugInstruction is an instruction of a [DebugMap].
type DebugInstruction struct {
	Op string `json:"op"` // "aten::add.out", or the kind of instruction
	// Handle is one number for all instructions of a graph node, from 1; 0 for
	// those that stand for none.
	Handle int    `json:"debug_handle,omitempty"`
	Node   string `json:"node,omitempty"`
	File   string `json:"file,omitempty"` // of the model's Python source
	Line   int    `json:"line,omitempty"`
	Module string `json:"module,omitempty"` // path of the nn.Module
}

// DebugMap returns the map of a program that is written to a file of the name.
func (o *Output) DebugMap(file string) *DebugMap {
	d := &DebugMap{Program: file, Handles: map[string]map[int]int{}}
	for i, plan := range o.Program.Plans {
		m := DebugMethod{Name: plan.Name, Instructions: []DebugInstruction{}}
		handles, known := map[int]int{}, map[string]int{}
		for k, in := range plan.Chains[0].Instructions {
			from := o.Origins[i][k]
			if from.Node != "" {
				if known[from.Node] == 0 {
					known[from.Node] = len(known) + 1
				}
				handles[k] = known[from.Node]
			}
			m.Instructions = append(m.Instructions, DebugInstruction{
				Op: plan.InstructionName(in), Handle: known[from.Node], Node: from.Node,
				File: from.Loc.File, Line: from.Loc.Line, Module: from.Loc.Module,
			})
		}
		d.Methods, d.Handles[plan.Name] = append(d.Methods, m), handles
	}
	return d
}

// JSON returns the map as it is in files.
func (d *DebugMap) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
}

// DebugFile is where the map of the program at path lies.
func DebugFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".debug.json"
}

// DebugBeside reads the map of the program p at path, nil if there is none. One
// that does not fit the program is an error.
func DebugBeside(p *pte.Program, path string) (_ *DebugMap, err error) {
	defer must.Catch(&err)
	name := DebugFile(path)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	must.Check(err)
	d := &DebugMap{}
	must.In(json.Unmarshal(text, d), "%s", name)
	must.Do(func() { d.fits(p) }, "%s is of another program", name)
	return d, nil
}

func (d *DebugMap) fits(p *pte.Program) {
	if len(d.Methods) != len(p.Plans) {
		must.Fail("it has %d methods, not %d", len(d.Methods), len(p.Plans))
	}
	for i, plan := range p.Plans {
		m := d.Methods[i]
		if m.Name != plan.Name || len(plan.Chains) != 1 ||
			len(m.Instructions) != len(plan.Chains[0].Instructions) {
			must.Fail("method %s is another", foreign.Message(plan.Name))
		}
		for k, in := range plan.Chains[0].Instructions {
			if have, want := m.Instructions[k].Op, plan.InstructionName(in); have != want {
				must.Fail("instruction %d of method %s is %s, not %s", k,
					foreign.Message(plan.Name), foreign.Message(want), foreign.Message(have))
			}
		}
	}
}

// OriginsBeside returns what the instructions of each method stand for, those of
// all chains in order: by the map of the program p at path, else by the program's
// own stack traces, else nothing.
func OriginsBeside(p *pte.Program, path string) ([][]Origin, error) {
	debug, err := DebugBeside(p, path)
	if err != nil {
		return nil, err
	}
	all := make([][]Origin, len(p.Plans))
	for i, plan := range p.Plans {
		for _, chain := range plan.Chains {
			for k := range chain.Instructions {
				var o Origin
				switch {
				case debug != nil: // it has one chain
					d := debug.Methods[i].Instructions[k]
					o = Origin{Node: d.Node, Loc: ir.Location{File: d.File, Line: d.Line,
						Module: d.Module}}
				case k < len(chain.Stacktrace):
					if f, ok := raise.Innermost(chain.Stacktrace[k]); ok {
						o.Loc = ir.Location{File: filepath.Base(f.Filename), Line: int(f.Line),
							Module: f.Name}
					}
				}
				all[i] = append(all[i], o)
			}
		}
	}
	return all, nil
}
