package pt2

import (
	"io/fs"
	"path"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// weights finds a program's tensors by qualified name. The two stores are
// opened when the first tensor is asked for.
type weights struct {
	arch             *archive
	state, constants store
}

// store is a state_dict or the constants: the places where it may lie, tried
// in order, and once opened its tensors.
type store struct {
	configs []string // config JSON with raw files beside it
	pickles []string // torch.save archives
	opened  bool
	from    string // the file it was read from
	tensors map[string]*storedTensor
	blobs   map[string]ir.Blob // by file
	saves   map[string]*torchSave
}

// storedTensor is a tensor of a store: either a view of a raw file or one of a
// torch.save archive.
type storedTensor struct {
	wire   *wireTensor // of a config; nil for objects that are no tensors
	file   string
	pickle bool // file is a torch.save archive
	saved  *savedTensor
	save   *torchSave
}

// find returns the tensor called name. constants tells in which store PyTorch
// puts it; the other one is tried too.
func (w *weights) find(name string, constants bool) *ir.Constant {
	order := []*store{&w.state, &w.constants}
	if constants {
		order[0], order[1] = order[1], order[0]
	}
	for _, s := range order {
		s.open(w.arch)
		if t := s.tensors[name]; t != nil {
			return s.constant(w.arch, name, t)
		}
	}
	e := &Error{Node: name, Problem: "its data is missing",
		Hint: "the model is incomplete; export it again"}
	if s := order[0]; s.from == "" {
		e.Problem += ": there is none of " + strings.Join(append(append([]string{}, s.configs...),
			s.pickles...), ", ")
		e.Hint = "keep the weights beside the graph as torch.export.save writes them"
	}
	panic(e)
}

func (s *store) open(a *archive) {
	if s.opened {
		return
	}
	s.opened = true
	s.blobs, s.saves = map[string]ir.Blob{}, map[string]*torchSave{}
	for _, name := range s.configs {
		if !a.exists(name) {
			continue
		}
		data := must.Get(a.read(name, maxJSON))
		s.from = name
		sc := &scanner{data: data}
		s.tensors = sc.config(path.Dir(name))
		if sc.err != nil {
			sc.err.Member = name
			panic(sc.err)
		}
		return
	}
	for _, name := range s.pickles {
		if !a.exists(name) {
			continue
		}
		save := s.openSave(a, name)
		s.from = name
		s.tensors = map[string]*storedTensor{}
		for key, t := range save.tensors() {
			s.tensors[key] = &storedTensor{saved: t, save: save, file: name}
		}
		return
	}
}

// openSave opens the torch.save archive called name once.
func (s *store) openSave(a *archive, name string) *torchSave {
	if t := s.saves[name]; t != nil {
		return t
	}
	b := s.blob(a, name)
	amend(func() { s.saves[name] = openTorchSave(b) }, func(e *Error) { e.Member = name })
	return s.saves[name]
}

// blob opens a file once, so that tensors that share a storage share the Blob.
func (s *store) blob(a *archive, name string) ir.Blob {
	if b := s.blobs[name]; b != nil {
		return b
	}
	b := a.blob(name)
	s.blobs[name] = b
	return b
}

// config reads a *_weights_config.json or *_constants_config.json; its files
// lie in dir.
func (s *scanner) config(dir string) (m map[string]*storedTensor) {
	s.members("config", byName(s, &m, func() *storedTensor {
		t := &storedTensor{}
		s.members("path_name", func() {
			name := s.str()
			if name == "" || strings.ContainsAny(name, `/\`) || !fs.ValidPath(name) {
				s.fail("bad path_name %q", name)
			}
			t.file = path.Join(dir, name)
		}, "use_pickle", &t.pickle, "tensor_meta", func() { t.wire = s.tensor() })
		return t
	}))
	s.end()
	return m
}

// constant makes the constant of t and checks that it lies in its storage.
func (s *store) constant(a *archive, name string, t *storedTensor) *ir.Constant {
	k := &ir.Constant{Name: name}
	amend(func() {
		s.fill(k, a, t)
		if err := ir.CheckConstant(k); err != nil {
			panic(&Error{Problem: err.Error(), Hint: "the file is damaged; export the model again"})
		}
	}, func(e *Error) {
		e.Node = name
		switch {
		case e.Member == "":
			e.Member = t.file
		case e.Member != s.from && !strings.HasPrefix(e.Member, t.file): // of an archive inside
			e.Member = t.file + "/" + e.Member
		}
	})
	return k
}

// fill finds type and data of a constant.
func (s *store) fill(k *ir.Constant, a *archive, t *storedTensor) {
	switch {
	case t.saved != nil:
		k.Type, k.Data = t.saved.typ, t.save.storage(t.saved.storage)
	case t.pickle:
		save := s.openSave(a, t.file)
		saved, ok := save.root.(*savedTensor)
		if !ok {
			panic(problem("its pickle holds no plain tensor"))
		}
		k.Type, k.Data = saved.typ, save.storage(saved.storage)
	case t.wire == nil:
		panic(&Error{Member: s.from,
			Problem: "it is no tensor but a Python object, which cannot be compiled"})
	default:
		k.Type = staticType(t.wire)
		k.Data = s.blob(a, t.file)
	}
}

// staticType converts the type of a stored tensor, whose sizes are constants.
func staticType(w *wireTensor) ir.Type {
	for _, list := range [][]wireSym{w.sizes, w.strides, {w.offset}} {
		for _, e := range list {
			if e.expr != "" {
				panic(problem("a stored tensor has the symbolic size %s", e.expr))
			}
		}
	}
	return (&converter{}).tensorType(w)
}

// savedType makes the type of a tensor that torch.save wrote.
func savedType(d ir.DType, sizes, strides []int64, offset int64) ir.Type {
	if len(sizes) != len(strides) || len(sizes) > maxRank {
		panic(problem("a tensor has %d sizes and %d strides", len(sizes), len(strides)))
	}
	t := ir.Type{Kind: ir.TensorKind, DType: d, Sizes: ir.Ints(sizes), Strides: ir.Ints(strides),
		Offset: sym.Int(offset)}
	notNegative(t)
	return t
}
