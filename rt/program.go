package rt

import (
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// Program is a loaded .pte file. It does not change; methods of it may be
// loaded and executed by many goroutines at once.
type Program struct {
	file      *pte.Program
	constants blobs
	named     map[string]ir.Blob
	metas     []*MethodMeta // parallel to file.Plans
	platform  Platform
	closer    io.Closer
	shared    shared // by optimizers
}

// LoadOptions are how a program is loaded. Nil stands for the zero value.
type LoadOptions struct {
	Platform Platform // nil is DefaultPlatform

	// Verify, if not nil, judges what was read. The runtime itself checks what it
	// needs to execute any file safely, as ExecuTorch's minimal level does;
	// a program that passes and is wrong gives wrong results. To refuse those too,
	// with all that is wrong at once:
	//
	//	func(p *pte.Program) error { return pte.Verify(p, ops.Standard()) }
	Verify func(*pte.Program) error
}

// Load reads the program that loader has and checks it. Of tensor data nothing
// is read yet: constants are when a method that needs them is loaded.
//
// Whatever the file says, what is allocated is bounded: by pte.ReadExpansion
// times the file's flatbuffer here; by twice the file for the constants of all
// methods together, nothing if loader is a BytesLoader; by pte.ReadExpansion
// times the flatbuffer and the MemoryManager's limit for each method.
func Load(loader DataLoader, options *LoadOptions) (*Program, error) {
	file, err := pte.Read(&source{loader}, loader.Size())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidProgram, err)
	}
	p, err := NewProgram(file, options)
	if err != nil {
		return nil, err
	}
	p.constants.left = 2 * loader.Size()
	return p, nil
}

// Open loads the program in the file at path. The file stays open, since it is
// read when methods are loaded, until Close.
func Open(path string, options *LoadOptions) (*Program, error) {
	loader, closer, err := openFile(path)
	return loadOpened(path, loader, closer, err, options)
}

// OpenFS is Open for a file of a file system. A file that is an io.ReaderAt is
// read when its parts are needed, another at once.
func OpenFS(fsys fs.FS, name string, options *LoadOptions) (*Program, error) {
	loader, closer, err := openFS(fsys, name)
	return loadOpened(name, loader, closer, err, options)
}

func loadOpened(name string, loader DataLoader, closer io.Closer, err error,
	options *LoadOptions) (*Program, error) {
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", name, err)
	}
	p, err := Load(loader, options)
	if err != nil {
		if closer != nil {
			closer.Close()
		}
		return nil, fmt.Errorf("loading %s: %w", name, err)
	}
	p.closer = closer
	return p, nil
}

// NewProgram returns a program made of a file in memory. NewProgram checks the file as
// Load does. The caller must not change the file afterwards.
func NewProgram(file *pte.Program, options *LoadOptions) (_ *Program, err error) {
	defer must.Catch(&err)
	if options == nil {
		options = &LoadOptions{}
	}
	p := &Program{file: file, platform: options.Platform}
	p.constants.left = math.MaxInt64 // blobs that were made, not read, are in memory
	if p.platform == nil {
		p.platform = DefaultPlatform()
	}
	if options.Verify != nil {
		if err := options.Verify(file); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalidProgram, err)
		}
	}
	p.named = make(map[string]ir.Blob, len(file.Named))
	for _, n := range file.Named {
		p.named[n.Key] = n.Data
	}
	for _, plan := range file.Plans {
		must.Do(func() { p.metas = append(p.metas, newMethodMeta(file, plan)) }, "method %q",
			plan.Name)
	}
	return p, nil
}

// Close closes the file that Open opened. Methods that are loaded already go on
// unless a backend reads its data later.
func (p *Program) Close() error {
	if p.closer == nil {
		return nil
	}
	return p.closer.Close()
}

// File returns what the program was loaded from. It must not be changed.
func (p *Program) File() *pte.Program { return p.file }

// MethodNames returns the names of the methods in the file's order.
func (p *Program) MethodNames() []string {
	names := make([]string, len(p.file.Plans))
	for i, plan := range p.file.Plans {
		names[i] = plan.Name
	}
	return names
}

// MethodMeta describes a method without loading it. The error is ErrNotFound.
func (p *Program) MethodMeta(name string) (_ *MethodMeta, err error) {
	defer must.Catch(&err)
	return p.metas[p.find(name)], nil
}

// find returns the index of the plan of a method.
func (p *Program) find(name string) int {
	for i, plan := range p.file.Plans {
		if plan.Name == name {
			return i
		}
	}
	if len(p.file.Plans) == 0 {
		panic(fmt.Errorf("method %q: %w: the program has no methods", name, ErrNotFound))
	}
	panic(fmt.Errorf("method %q: %w: the program's methods are %q", name, ErrNotFound,
		p.MethodNames()))
}

// constant returns the first n bytes of entry i of the constants.
func (p *Program) constant(i uint32, n int) []byte {
	if int64(i) >= int64(len(p.file.Constants)) {
		panic(fmt.Errorf("%w: constant %d of %d", ErrInvalidProgram, i, len(p.file.Constants)))
	}
	return must.At(func() []byte { return p.constants.bytes(i, p.file.Constants[i], n) },
		"constant %d", i)
}
