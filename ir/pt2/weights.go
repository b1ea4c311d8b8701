package pt2

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/etgen/etgen/ir"
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
func (w *weights) find(name string, constants bool) (*ir.Constant, error) {
	order := []*store{&w.state, &w.constants}
	if constants {
		order[0], order[1] = order[1], order[0]
	}
	for _, s := range order {
		if err := s.open(w.arch); err != nil {
			return nil, err
		}
		if t := s.tensors[name]; t != nil {
			k, err := s.constant(w.arch, name, t)
			if err != nil {
				return nil, err
			}
			return k, nil
		}
	}
	e := &Error{Node: name, Problem: "its data is missing",
		Hint: "the model is incomplete; export it again"}
	if s := order[0]; s.from == "" {
		e.Problem += ": there is none of " + strings.Join(append(append([]string{}, s.configs...),
			s.pickles...), ", ")
		e.Hint = "keep the weights beside the graph as torch.export.save writes them"
	}
	return nil, e
}

func (s *store) open(a *archive) error {
	if s.opened {
		return nil
	}
	s.opened = true
	s.blobs, s.saves = map[string]ir.Blob{}, map[string]*torchSave{}
	for _, name := range s.configs {
		if !a.exists(name) {
			continue
		}
		data, err := a.read(name, maxJSON)
		if err != nil {
			return err
		}
		s.from = name
		sc := &scanner{data: data}
		s.tensors = sc.config(path.Dir(name))
		if sc.err != nil {
			sc.err.Member = name
			return sc.err
		}
		return nil
	}
	for _, name := range s.pickles {
		if !a.exists(name) {
			continue
		}
		save, err := s.openSave(a, name)
		if err != nil {
			return err
		}
		s.from = name
		s.tensors = map[string]*storedTensor{}
		for key, t := range save.tensors() {
			s.tensors[key] = &storedTensor{saved: t, save: save, file: name}
		}
		return nil
	}
	return nil
}

// openSave opens the torch.save archive called name once.
func (s *store) openSave(a *archive, name string) (*torchSave, error) {
	if t := s.saves[name]; t != nil {
		return t, nil
	}
	b, err := s.blob(a, name)
	if err != nil {
		return nil, err
	}
	t, err := openTorchSave(b)
	if err != nil {
		e := asError(err)
		e.Member = name
		return nil, e
	}
	s.saves[name] = t
	return t, nil
}

// blob opens a file once, so that tensors that share a storage share the Blob.
func (s *store) blob(a *archive, name string) (ir.Blob, error) {
	if b := s.blobs[name]; b != nil {
		return b, nil
	}
	b, err := a.blob(name)
	if err != nil {
		return nil, err
	}
	s.blobs[name] = b
	return b, nil
}

// config reads a *_weights_config.json or *_constants_config.json; its files
// lie in dir.
func (s *scanner) config(dir string) map[string]*storedTensor {
	m := map[string]*storedTensor{}
	s.object(func(key string) {
		if key != "config" {
			s.skip()
			return
		}
		s.object(func(fqn string) {
			t := &storedTensor{}
			s.object(func(key string) {
				switch key {
				case "path_name":
					name := s.str()
					if name == "" || strings.ContainsAny(name, `/\`) || !fs.ValidPath(name) {
						s.fail("bad path_name %q", name)
					}
					t.file = path.Join(dir, name)
				case "use_pickle":
					t.pickle = s.bool()
				case "tensor_meta":
					t.wire = s.tensor()
				default:
					s.skip()
				}
			})
			m[fqn] = t
		})
	})
	s.end()
	return m
}

// constant makes the constant of t and checks that it lies in its storage.
func (s *store) constant(a *archive, name string, t *storedTensor) (*ir.Constant, error) {
	k := &ir.Constant{Name: name}
	var err error
	switch {
	case t.saved != nil:
		k.Type = t.saved.typ
		k.Data, err = t.save.storage(t.saved.storage)
	case t.pickle:
		var save *torchSave
		if save, err = s.openSave(a, t.file); err != nil {
			return nil, err
		}
		saved, ok := save.root.(*savedTensor)
		if !ok {
			return nil, &Error{Member: t.file, Node: name,
				Problem: "its pickle holds no plain tensor"}
		}
		k.Type = saved.typ
		k.Data, err = save.storage(saved.storage)
	case t.wire == nil:
		return nil, &Error{Member: s.from, Node: name,
			Problem: "it is no tensor but a Python object, which cannot be compiled"}
	default:
		if k.Type, err = staticType(t.wire); err == nil {
			k.Data, err = s.blob(a, t.file)
		}
	}
	if err == nil {
		err = ir.CheckConstant(k)
	}
	if err == nil {
		return k, nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Problem: err.Error(), Hint: "the file is damaged; export the model again"}
	}
	e.Node = name
	switch {
	case e.Member == "":
		e.Member = t.file
	case !strings.HasPrefix(e.Member, t.file): // of an archive inside
		e.Member = t.file + "/" + e.Member
	}
	return nil, e
}

// staticType converts the type of a stored tensor, whose sizes are constants.
func staticType(w *wireTensor) (ir.Type, error) {
	for _, list := range [][]wireSym{w.sizes, w.strides, {w.offset}} {
		for _, e := range list {
			if e.expr != "" {
				return ir.Type{}, problem("a stored tensor has the symbolic size %s", e.expr)
			}
		}
	}
	return (&converter{}).tensorType(w)
}

// savedType makes the type of a tensor that torch.save wrote.
func savedType(d ir.DType, sizes, strides []int64, offset int64) (ir.Type, error) {
	if len(sizes) != len(strides) || len(sizes) > maxRank {
		return ir.Type{}, problem("a tensor has %d sizes and %d strides", len(sizes), len(strides))
	}
	t := ir.Type{Kind: ir.TensorKind, DType: d, Sizes: ir.Ints(sizes), Strides: ir.Ints(strides),
		Offset: sym.Int(offset)}
	return t, notNegative(t)
}
