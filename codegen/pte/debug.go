package pte

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/lower/raise"
)

// DebugMap tells what the instructions of a program stand for. It lies beside the
// program, as NAME.debug.json: the program itself has no room for it.
type DebugMap struct {
	Program string        `json:"program"` // base name of its file
	Methods []DebugMethod `json:"methods"`
	// Handles are of each method the debug handles of each instruction that has
	// some, by its index: what ExecuTorch's tools call debug_handle_map. The call of a
	// delegate has those of the nodes in it.
	Handles map[string]map[int]pt2.Handles `json:"debug_handle_map"`
	// Delegates are of each method what the events of delegates stand for, by the index of
	// the call: ExecuTorch's delegate_map.
	Delegates map[string]map[int]pt2.Delegate `json:"delegate_map,omitempty"`
}

// DebugEvent is an event of a delegate with the nodes that it stands for.
type DebugEvent struct {
	ID    string      `json:"delegate_debug_id"`
	Nodes []DebugNode `json:"nodes"`
}

// DebugNode is a node in a delegate.
type DebugNode struct {
	Handle int    `json:"debug_handle"`
	Node   string `json:"node"`
	Op     string `json:"op"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Module string `json:"module,omitempty"`
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
	// Events are those of a delegate that it runs.
	Events []DebugEvent `json:"events,omitempty"`
}

// DebugMap returns the map of a program that is written to a file of the name.
func (o *Output) DebugMap(file string) *DebugMap {
	d := &DebugMap{Program: file, Handles: map[string]map[int]pt2.Handles{}}
	for i, plan := range o.Program.Plans {
		m := DebugMethod{Name: plan.Name, Instructions: []DebugInstruction{}}
		handles, numbers := map[int]pt2.Handles{}, nodeNumbers{}
		for k, in := range plan.Chains[0].Instructions {
			from := o.Origins[i][k]
			x := DebugInstruction{Op: plan.InstructionName(in), Handle: numbers.of(from.Node),
				Node: from.Node, File: from.Loc.File, Line: from.Loc.Line, Module: from.Loc.Module}
			if x.Handle != 0 {
				handles[k] = pt2.Handles{x.Handle}
			}
			if call, ok := in.(pte.DelegateCall); ok && len(from.Events) > 0 {
				x.Events, handles[k] = debugEvents(from, numbers)
				d.delegate(plan, k, plan.Delegates[call.Delegate].ID, x.Events)
			}
			m.Instructions = append(m.Instructions, x)
		}
		d.Methods, d.Handles[plan.Name] = append(d.Methods, m), handles
	}
	return d
}

// nodeNumbers are the debug handles of a method's nodes, by their names.
type nodeNumbers map[string]int

// of returns the handle of a node, 0 for none.
func (ns nodeNumbers) of(name string) int {
	if name != "" && ns[name] == 0 {
		ns[name] = len(ns) + 1
	}
	return ns[name]
}

// debugEvents are the events of a delegate, and the handles of all nodes in it.
func debugEvents(from Origin, numbers nodeNumbers) (events []DebugEvent, all pt2.Handles) {
	for _, e := range from.Events {
		x := DebugEvent{ID: e.ID, Nodes: []DebugNode{}}
		for _, n := range e.Nodes {
			x.Nodes = append(x.Nodes, DebugNode{Handle: numbers.of(n.Node), Node: n.Node, Op: n.Op,
				File: n.Loc.File, Line: n.Loc.Line, Module: n.Loc.Module})
		}
		events = append(events, x)
	}
	for _, n := range from.Inside() {
		all = append(all, numbers.of(n.Node))
	}
	return events, all
}

// delegate notes what the events of the delegate that instruction k runs stand for.
func (d *DebugMap) delegate(plan *pte.ExecutionPlan, k int, backend string, events []DebugEvent) {
	entry := pt2.Delegate{Backend: backend, Events: map[string]pt2.Handles{}}
	for _, e := range events {
		handles := pt2.Handles{}
		for _, n := range e.Nodes {
			handles = append(handles, n.Handle)
		}
		entry.Events[e.ID] = handles
	}
	if d.Delegates == nil {
		d.Delegates = map[string]map[int]pt2.Delegate{}
	}
	if d.Delegates[plan.Name] == nil {
		d.Delegates[plan.Name] = map[int]pt2.Delegate{}
	}
	d.Delegates[plan.Name][k] = entry
}

// Record is what an ETRecord says of the program's instructions.
func (o *Output) Record() pt2.Record {
	d, rec := o.DebugMap(""), pt2.Record{}
	for i, m := range d.Methods {
		r := &pt2.RecordMethod{Handles: d.Handles[m.Name], Delegates: map[int]pt2.Delegate{},
			Outs: map[int]int{}, Nodes: map[int][]ir.Origin{}}
		maps.Copy(r.Delegates, d.Delegates[m.Name])
		for k, in := range m.Instructions {
			r.Nodes[in.Handle] = []ir.Origin{{Node: in.Node}}
			for _, e := range in.Events {
				for _, n := range e.Nodes {
					r.Nodes[n.Handle] = []ir.Origin{{Node: n.Node}}
				}
			}
			if outs := o.Origins[i][k].Outs; outs > 0 {
				r.Outs[k] = outs
			}
		}
		rec[m.Name] = r
	}
	return rec
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

// DebugBeside reads the map of the program p at path, nil if there is none. One that does not fit
// the program is nil, too, and a warning.
func DebugBeside(p *pte.Program, path string, warn func(error)) (_ *DebugMap, err error) {
	defer must.Catch(&err)
	name := DebugFile(path)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	must.Check(err)
	d := &DebugMap{}
	must.In(json.Unmarshal(text, d), "%s", name)
	if err := must.Try(func() { d.fits(p) }); err != nil {
		warn(otherBuild(name, err))
		return nil, nil
	}
	return d, nil
}

// otherBuild is the warning that the file of a name tells of another program than that beside it.
func otherBuild(name string, why error) error {
	return fmt.Errorf("%s is of another build of the program, so nodes and lines are not known "+
		"from it: %w", name, why)
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

// events are the events of a delegate, as the compiler had them.
func (d *DebugInstruction) events() (all []ir.DelegateEvent) {
	for _, e := range d.Events {
		x := ir.DelegateEvent{ID: e.ID}
		for _, n := range e.Nodes {
			x.Nodes = append(x.Nodes, ir.Origin{Node: n.Node, Op: n.Op,
				Loc: ir.Location{File: n.File, Line: n.Line, Module: n.Module}})
		}
		all = append(all, x)
	}
	return all
}

// OriginsBeside returns what the instructions of each method stand for, those of
// all chains in order: by the map of the program p at path, else by the program's
// own stack traces, else nothing.
func OriginsBeside(p *pte.Program, path string, warn func(error)) ([][]Origin, error) {
	debug, err := DebugBeside(p, path, warn)
	return originsOf(p, debug), err
}

func originsOf(p *pte.Program, debug *DebugMap) [][]Origin {
	all := make([][]Origin, len(p.Plans))
	for i, plan := range p.Plans {
		for _, chain := range plan.Chains {
			for k := range chain.Instructions {
				var o Origin
				switch {
				case debug != nil: // it has one chain
					d := debug.Methods[i].Instructions[k]
					o = Origin{Node: d.Node, Loc: ir.Location{File: d.File, Line: d.Line,
						Module: d.Module}, Events: d.events()}
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
	return all
}

// recordFile is where the ETRecord of the program at path lies.
func recordFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".etrecord"
}

// LinesBeside returns what the map of the program p at path tells or, if there is none, its
// ETRecord; nil if there is neither.
func LinesBeside(p *pte.Program, path string, warn func(error)) (raise.Origins, error) {
	first := func(nodes []ir.Origin) (loc ir.Location) {
		for _, n := range nodes {
			loc = cmp.Or(loc, n.Loc)
		}
		return loc
	}
	event := func(handle uint32) string {
		if handle == 0 {
			return ""
		}
		return xnnpack.EventID(handle)
	}
	if debug, err := DebugBeside(p, path, warn); debug != nil || err != nil {
		all := originsOf(p, debug)
		return func(plan, instruction int, handle uint32) ir.Location {
			return first(all[plan][instruction].Nodes(event(handle)))
		}, err
	}
	if _, err := os.Stat(recordFile(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	record, err := pt2.ReadRecord(recordFile(path))
	for _, plan := range p.Plans {
		m := record.Method(plan.Name)
		if m == nil || err != nil {
			continue
		}
		if why := m.Unlike(plan.Kernels()); why != nil {
			warn(otherBuild(recordFile(path), why))
			return nil, nil
		}
	}
	return func(plan, instruction int, handle uint32) ir.Location {
		m := record.Method(p.Plans[plan].Name)
		switch {
		case m == nil:
			return ir.Location{}
		case handle != 0 && len(m.Delegates[instruction].Events) == 0: // of ExecuTorch's exporter
			return first(m.Nodes[int(handle)])
		}
		return first(m.Origins(instruction, event(handle)))
	}, err
}
