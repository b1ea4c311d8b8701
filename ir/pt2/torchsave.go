package pt2

import (
	"strings"

	"github.com/etgen/etgen/ir"
)

// maxPickle bounds the bytes of a data.pkl, which holds no tensor data.
const maxPickle = 1 << 28

// torchSave is an archive written by torch.save: one folder with data.pkl, the
// storages in data/KEY, and byteorder.
type torchSave struct {
	arch  *archive
	dir   string // ends in "/"
	root  any
	blobs map[string]ir.Blob
}

func openTorchSave(b ir.Blob) (*torchSave, error) {
	a, err := openZip(b, b.Size())
	if err != nil {
		return nil, within(err, "weights written by torch.save")
	}
	t := &torchSave{arch: a, blobs: map[string]ir.Blob{}}
	for _, f := range a.zip.File {
		if dir, ok := strings.CutSuffix(f.Name, "/data.pkl"); ok && !strings.Contains(dir, "/") {
			t.dir = dir + "/"
		}
	}
	if t.dir == "" {
		return nil, problem("it was not written by torch.save: it has no data.pkl")
	}
	if a.exists(t.dir + "byteorder") {
		order, err := a.read(t.dir+"byteorder", 16)
		if err != nil {
			return nil, err
		}
		if s := strings.TrimSpace(string(order)); s != "little" {
			return nil, problem("its byte order is %q",
				s).hint("export the model on a little-endian machine")
		}
	}
	data, err := a.read(t.dir+"data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	t.root, err = unpickle(data)
	return t, err
}

// tensors returns the tensors of a saved dict by name.
func (t *torchSave) tensors() map[string]*savedTensor {
	m := map[string]*savedTensor{}
	if d, ok := t.root.(*pickleDict); ok {
		for i, k := range d.keys {
			name, ok1 := k.(string)
			x, ok2 := d.values[i].(*savedTensor)
			if ok1 && ok2 {
				m[name] = x
			}
		}
	}
	return m
}

// storage returns the bytes of s; tensors that share it share the Blob.
func (t *torchSave) storage(s *savedStorage) (ir.Blob, error) {
	if b := t.blobs[s.key]; b != nil {
		return b, nil
	}
	b, err := t.arch.blob(t.dir + "data/" + s.key)
	if err != nil {
		return nil, err
	}
	if b.Size() < s.size {
		return nil, problem("a storage of %d bytes has only %d in the file", s.size, b.Size()).
			hint("the file is damaged; export the model again")
	}
	t.blobs[s.key] = b
	return b, nil
}
