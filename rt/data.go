package rt

import (
	"fmt"
	"io"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// blobs reads data that does not change and keeps it for all who ask.
type blobs struct {
	mu   sync.Mutex
	kept map[any][]byte
	// left is what may still be read into memory of its own. The data of one
	// file that do not overlap fit the file, so that a file whose entries all
	// name the same bytes cannot ask for more.
	left int64
}

// bytes returns the first n bytes of b, which nobody may write. They lie where
// the loader has them if it has them in memory, else they are read once and
// kept: under the place in the file if they have one, else under key.
func (c *blobs) bytes(key any, b ir.Blob, n int) []byte {
	if b == nil || b.Size() < int64(n) {
		panic(fmt.Errorf("%w: the file has %d bytes of data for a tensor of %d",
			ErrInvalidProgram, sizeOf(b), n))
	}
	if n == 0 {
		return []byte{}
	}
	if there := inMemory(b, n); there != nil {
		return there
	}
	if r, off := outermost(b); isSource(r) {
		key = off // the same bytes may have several entries
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.kept[key]; len(kept) >= n {
		return kept[:n:n]
	}
	if int64(n) > c.left {
		panic(fmt.Errorf("%w: the constants take more bytes than their file has",
			ErrInvalidProgram))
	}
	read := alignedBytes(n)
	must.Check(readBlob(b, read))
	if c.kept == nil {
		c.kept = map[any][]byte{}
	}
	c.kept[key] = read
	c.left -= int64(n)
	return read
}

func sizeOf(b ir.Blob) int64 {
	if b == nil {
		return 0
	}
	return b.Size()
}

// inMemory returns the first n bytes of b where they lie, nil if they have to be
// read: because they are not in memory, or not aligned for all elements.
func inMemory(b ir.Blob, n int) []byte {
	found, _ := b.(ir.Bytes)
	if found == nil {
		r, off := outermost(b)
		from, ok := r.(*source)
		if !ok {
			return nil
		}
		loader, ok := from.DataLoader.(BytesLoader)
		if !ok {
			return nil
		}
		found = must.Get(loader.Bytes(off, int64(n)))
	}
	if len(found) < n {
		panic(fmt.Errorf("%w: the loader gives %d bytes of %d", ErrInvalidProgram,
			len(found), n))
	}
	if !aligned(found, ir.Int64) {
		return nil
	}
	return found[:n:n]
}

func isSource(r io.ReaderAt) bool {
	_, ok := r.(*source)
	return ok
}

// outermost returns what b is a section of, and from where on.
func outermost(b ir.Blob) (r io.ReaderAt, off int64) {
	r = b
	for {
		s, ok := r.(interface {
			Outer() (io.ReaderAt, int64, int64)
		}) // io.SectionReader
		if !ok {
			return r, off
		}
		inner, o, _ := s.Outer()
		r, off = inner, off+o
	}
}

// readBlob fills p with the beginning of b.
func readBlob(b ir.Blob, p []byte) error {
	if sizeOf(b) < int64(len(p)) {
		return fmt.Errorf("%w: the file has %d bytes of data for a tensor of %d", ErrInvalidProgram,
			sizeOf(b), len(p))
	}
	if _, err := io.ReadFull(io.NewSectionReader(b, 0, int64(len(p))), p); err != nil {
		return fmt.Errorf("reading %d bytes of data: %w", len(p), err)
	}
	return nil
}
