package pt2

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// Record is an ETRecord: what the instructions of an ExecuTorch program stand for, by its methods.
// ExecuTorch's exporter writes it, and its Inspector joins it with a run.
type Record map[string]*RecordMethod

// Method is the method of a name; "" is the only one, or forward. Nil if there is none.
func (r Record) Method(name string) *RecordMethod {
	if name != "" {
		return r[name]
	}
	for _, m := range r {
		if len(r) == 1 {
			return m
		}
	}
	return r["forward"]
}

// RecordMethod is a method of a [Record].
type RecordMethod struct {
	Handles   map[int]Handles     // of instructions: debug_handle_map
	Outs      map[int]int         // results of instructions that call a delegate
	Delegates map[int]Delegate    // of instructions that call one: delegate_map
	Nodes     map[int][]ir.Origin // of the edge program, by their debug handle
	// Results are those of instructions that call a delegate, if the edge program tells them.
	Results map[int][]Result
}

// Result is a tensor that a node of an edge program gives.
type Result struct {
	ir.Origin
	Index int      // among the node's results
	DType ir.DType // InvalidDType is one that etgen does not know
	Sizes []int64  // -1 is a dynamic one
}

// Handles are the debug handles of an instruction: in files a number if there is one, else a list.
type Handles []int

// MarshalJSON implements json.Marshaler.
func (h Handles) MarshalJSON() ([]byte, error) {
	if len(h) == 1 {
		return json.Marshal(h[0])
	}
	return json.Marshal([]int(h))
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Handles) UnmarshalJSON(text []byte) error {
	var one int
	if json.Unmarshal(text, &one) == nil {
		*h = Handles{one}
		return nil
	}
	return json.Unmarshal(text, (*[]int)(h))
}

// Delegate says what the events of a delegate stand for, by their delegate debug ids.
type Delegate struct {
	Backend string             `json:"name"`
	Events  map[string]Handles `json:"delegate_map"`
}

// Origins are the nodes that an instruction stands for or, if event is not "", those that an event
// of the delegate does that it calls; nil if nobody knows.
func (m *RecordMethod) Origins(instruction int, event string) (nodes []ir.Origin) {
	handles := m.Handles[instruction]
	if event != "" {
		handles = m.Delegates[instruction].Events[event]
	}
	seen := map[int]bool{}
	for _, h := range handles {
		if !seen[h] {
			nodes = append(nodes, m.Nodes[h]...)
		}
		seen[h] = true
	}
	return nodes
}

// Unlike says why the record is of another build of a program whose instructions call kernels of
// these names, "add.out", or [ir.DelegateKernel]; nil if it may be of this one.
func (m *RecordMethod) Unlike(kernels map[int]string) error {
	base := func(name string) string { return strings.TrimSuffix(name, "_copy") }
	known, others := 0, 0
	for k, kernel := range kernels {
		nodes := m.Origins(k, "")
		if len(nodes) == 0 {
			continue
		}
		known++
		_, calls := m.Delegates[k]
		if calls = calls || m.Outs[k] > 0; calls || kernel == ir.DelegateKernel {
			if !calls || kernel != ir.DelegateKernel {
				others++
			}
			continue
		}
		name, _, _ := strings.Cut(kernel, ".")
		if !slices.ContainsFunc(nodes, func(n ir.Origin) bool {
			return base(ir.OpBase(n.Op)) == base(name)
		}) {
			others++
		}
	}
	switch {
	case known == 0 && len(kernels) > 0:
		return errors.New("it has none of the instructions")
	case 2*others > known:
		return fmt.Errorf("%d of %d instructions call other operators in it", others, known)
	}
	return nil
}

// The members of a record.
const (
	recordMember    = "ETRECORD_V0" // empty, the identifier
	edgeMember      = "edge_dialect_exported_program"
	handlesMember   = "debug_handle_map"
	delegatesMember = "delegate_map"
	outsMember      = "instruction_id_to_num_outs_map"
)

// ReadRecord reads the record at path. Errors are of type *Error.
func ReadRecord(path string) (_ Record, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{File: path, Problem: "cannot open it", Err: pathCause(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, &Error{File: path, Problem: "it is no regular file", Err: err}
	}
	return parseRecord(f, info.Size(), filepath.Base(path))
}

func parseRecord(r io.ReaderAt, size int64, name string) (rec Record, err error) {
	defer must.Catch(&err)
	inFile(name, func() {
		a := openZip(r, size)
		if a.files[recordMember] == nil {
			panic(problem("it is no ETRecord: it has no member %s", recordMember))
		}
		var handles map[string]map[int]Handles
		var delegates map[string]map[int]Delegate
		var outs map[string]map[int]int
		a.decode(handlesMember, &handles)
		a.decode(delegatesMember, &delegates)
		a.decode(outsMember, &outs)
		rec = Record{}
		for method, of := range handles {
			m := &RecordMethod{Handles: of, Outs: outs[method], Delegates: delegates[method],
				Nodes: map[int][]ir.Origin{}, Results: map[int][]Result{}}
			rec[method] = m
			for _, member := range []string{edgeMember + "/" + method, edgeMember + "/forward", edgeMember} {
				// A single method is called forward, whatever its name; older records have no name.
				if a.files[member] != nil && (member == edgeMember+"/"+method || len(handles) == 1) {
					a.handledNodes(member, m)
					break
				}
			}
		}
	})
	return rec, err
}

// decode reads a member that is JSON into v, nothing if there is none.
func (a *archive) decode(member string, v any) {
	if a.files[member] == nil {
		return
	}
	if err := json.Unmarshal(must.Get(a.read(member, maxJSON)), v); err != nil {
		panic(&Error{Member: member, Problem: "it is damaged", Err: err})
	}
}

// handledNodes adds those nodes of the program at a member to m that have debug handles, and what
// delegates give that stand for them.
func (a *archive) handledNodes(member string, m *RecordMethod) {
	s := &scanner{data: must.Get(a.read(member, maxJSON))}
	w := s.program()
	if s.err != nil {
		s.err.Member = member
		panic(s.err)
	}
	w.graph.each(func(n *wireNode) {
		if h := n.debugHandle(); h != 0 {
			m.Nodes[h] = append(m.Nodes[h], n.origin())
		}
	})
	var tensors []*handled
	w.graph.handled(&tensors)
	of := map[int][]int{} // tensors by the debug handle of their node
	for i, t := range tensors {
		of[t.handle] = append(of[t.handle], i)
	}
	for k, outs := range m.Outs {
		if outs < 2 {
			continue
		}
		handles := slices.Compact(slices.Sorted(slices.Values(m.Handles[k])))
		var leaving []int
		for _, h := range handles {
			for _, i := range of[h] {
				if slices.ContainsFunc(tensors[i].readers, func(h int) bool {
					_, inside := slices.BinarySearch(handles, h)
					return !inside
				}) {
					leaving = append(leaving, i)
				}
			}
		}
		if len(leaving) == outs {
			slices.Sort(leaving)
			m.Results[k] = seq.Map(leaving, func(i int) Result { return tensors[i].Result })
		}
	}
}

// debugHandle is the node's debug handle, 0 if it has none.
func (n *wireNode) debugHandle() int {
	h, err := strconv.Atoi(n.handle)
	if err != nil {
		return 0
	}
	return h
}

// origin is what a record says of the node.
func (n *wireNode) origin() ir.Origin {
	return ir.Origin{Node: nodeName(n), Op: opName(n.target), Loc: n.loc}
}

// each calls f for all nodes in order, those of regions behind the node that has them.
func (g *wireGraph) each(f func(*wireNode)) {
	for i := range g.nodes {
		n := &g.nodes[i]
		f(n)
		for _, r := range n.regions() {
			r.each(f)
		}
	}
}

// regions are the graphs among the node's arguments.
func (n *wireNode) regions() (list []*wireGraph) {
	for i := range n.inputs {
		if r := n.inputs[i].arg.graph; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// handled is a tensor of an edge program's graph.
type handled struct {
	Result
	handle  int   // of its node
	readers []int // debug handles of nodes that read it, 0 of one without, and if it is returned
}

// handled adds the tensors that g's nodes give. They are in the order of nodes, as exporters have a
// delegate return them.
func (g *wireGraph) handled(all *[]*handled) {
	of := map[string]*handled{}
	for i := range g.nodes {
		n, index := &g.nodes[i], 0
		for _, r := range n.regions() {
			r.handled(all)
		}
		eachTensor(n.outputs, func(name string) {
			if w := g.tensors[name]; w != nil && of[name] == nil {
				t := &handled{handle: n.debugHandle(),
					Result: Result{Origin: n.origin(), Index: index, DType: knownDType(w.dtype)}}
				for _, s := range w.sizes {
					if s.expr != "" {
						s.n = -1
					}
					t.Sizes = append(t.Sizes, s.n)
				}
				of[name] = t
				*all = append(*all, t)
			}
			index++
		})
	}
	read := func(a wireArg, handle int) {
		eachTensor([]wireArg{a}, func(name string) {
			if t := of[name]; t != nil {
				t.readers = append(t.readers, handle)
			}
		})
	}
	for i := range g.nodes {
		for _, in := range g.nodes[i].inputs {
			read(in.arg, g.nodes[i].debugHandle())
		}
	}
	for _, a := range g.outputs {
		read(a, 0)
	}
}

// eachTensor calls f with the names of what args refer to, also in lists.
func eachTensor(args []wireArg, f func(name string)) {
	for _, a := range args {
		if a.name != "" {
			f(a.name)
		}
		eachTensor(a.list, f)
	}
}
