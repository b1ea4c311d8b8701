package rt

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// DataFile is data by name beside a program, as the weights in a .ptd file. It
// does not change; methods loaded with the same DataFile share what is read.
type DataFile struct {
	file    *pte.DataFile
	entries map[string]*pte.DataEntry
	read    blobs
	closer  io.Closer
}

// NewDataFile returns a data file over what was read, or made, elsewhere. It
// must not be changed any more.
func NewDataFile(file *pte.DataFile) *DataFile {
	d := &DataFile{file: file, entries: make(map[string]*pte.DataEntry, len(file.Entries))}
	d.read.left = math.MaxInt64 // blobs that were made, not read, are in memory
	for i := range file.Entries {
		d.entries[file.Entries[i].Key] = &file.Entries[i]
	}
	return d
}

// File returns what the data file holds. It must not be changed.
func (d *DataFile) File() *pte.DataFile { return d.file }

// LoadData reads the .ptd file that loader has; of the data themselves nothing
// yet.
func LoadData(loader DataLoader) (*DataFile, error) {
	file, err := pte.ReadData(&source{loader}, loader.Size())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidProgram, err)
	}
	d := NewDataFile(file)
	d.read.left = 2 * loader.Size()
	return d, nil
}

// OpenData loads the .ptd file at path, which stays open until Close.
func OpenData(path string) (*DataFile, error) {
	loader, closer, err := openFile(path)
	return loadOpenedData(path, loader, closer, err)
}

// OpenDataFS is OpenData for a file of a file system.
func OpenDataFS(fsys fs.FS, name string) (*DataFile, error) {
	loader, closer, err := openFS(fsys, name)
	return loadOpenedData(name, loader, closer, err)
}

func loadOpenedData(name string, loader DataLoader, closer io.Closer,
	err error) (*DataFile, error) {
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", name, err)
	}
	d, err := LoadData(loader)
	if err != nil {
		if closer != nil {
			closer.Close()
		}
		return nil, fmt.Errorf("loading %s: %w", name, err)
	}
	d.closer = closer
	return d, nil
}

// Close closes the file that OpenData opened. Loaded methods still run, unless a backend
// reads its data later.
func (d *DataFile) Close() error {
	if d.closer == nil {
		return nil
	}
	return d.closer.Close()
}

// dataFiles are the data files of a method; the first that has a name counts.
type dataFiles []*DataFile

// find returns the data of a tensor.
func (files dataFiles) find(name string, t *Tensor) (*DataFile, ir.Blob) {
	for _, f := range files {
		e, ok := f.entries[name]
		if !ok {
			continue
		}
		must.Do(func() { fits(e.Layout, t) }, "tensor %q of the data file", name)
		return f, e.Data
	}
	panic(fmt.Errorf(
		"%w: tensor %q; it is in a .ptd file that was not given; commands look in the program's folder",
		ErrMissingData, name))
}

// fits checks that data of that layout is what t expects.
func fits(l *pte.TensorLayout, t *Tensor) {
	if l == nil {
		panic(fmt.Errorf("%w: it is no tensor", ErrMissingData))
	}
	got, _ := declare(&pte.Tensor{ScalarType: l.ScalarType, Sizes: l.Sizes,
		DimOrder: l.DimOrder})
	if got.DType != t.DType || !slices.Equal(got.Sizes, t.Bound()) ||
		!sameLayout(got.Sizes, got.DimOrder, t.DimOrder) {
		panic(fmt.Errorf(
			"%w: it is %v of sizes %v and dim order %v, the program expects %v, %v and %v",
			ErrMissingData, got.DType, got.Sizes, got.DimOrder, t.DType, t.Bound(), t.DimOrder))
	}
}

// constant returns the n bytes of an external constant, which nobody may write.
func (files dataFiles) constant(name string, t *Tensor, n int) []byte {
	f, data := files.find(name, t)
	return must.At(func() []byte { return f.read.bytes(name, data, n) },
		"tensor %q of the data file", name)
}

// copy reads external data into memory.
func (files dataFiles) copy(name string, t *Tensor, into []byte) {
	_, data := files.find(name, t)
	must.In(readBlob(data, into), "tensor %q of the data file", name)
}

// blob finds data by name for a delegate.
func (files dataFiles) blob(name string) (ir.Blob, bool) {
	for _, f := range files {
		if e, ok := f.entries[name]; ok {
			return e.Data, true
		}
	}
	return nil, false
}
