package rt

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// DataLoader gives the bytes of a program's file. They do not change while
// anything loaded from it is used. Reads may come from several goroutines at
// once.
type DataLoader interface {
	io.ReaderAt
	Size() int64
}

// BytesLoader may be implemented by a DataLoader that has the file in memory.
// Constants are used where they lie then, else each is read when the first
// method that needs it is loaded, and kept for all methods of the program.
type BytesLoader interface {
	// Bytes returns the n bytes from off on, which nobody writes. It is called
	// with ranges inside the file.
	Bytes(off, n int64) ([]byte, error)
}

// Bytes is a DataLoader of a file in memory, as from go:embed.
type Bytes []byte

// ReadAt implements io.ReaderAt.
func (b Bytes) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(b).ReadAt(p, off) }

// Size returns the length in bytes.
func (b Bytes) Size() int64 { return int64(len(b)) }

// Bytes implements BytesLoader.
func (b Bytes) Bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > int64(len(b)) || n > int64(len(b))-off {
		return nil, fmt.Errorf("%d bytes from %d on are outside of %d", n, off, len(b))
	}
	return b[off : off+n : off+n], nil
}

// source is a loader as blobs know it: comparable, whatever type the loader has.
type source struct{ DataLoader }

// section is a DataLoader over part of memory or of a file.
type section struct {
	io.ReaderAt
	size int64
}

func (s section) Size() int64 { return s.size }

// openFile opens a file that is read when its parts are needed.
func openFile(path string) (DataLoader, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return lazily(f)
}

// openFS is like openFile for a file of a file system; one that cannot be read
// at any place is read whole.
func openFS(fsys fs.FS, name string) (DataLoader, io.Closer, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return lazily(f)
}

func lazily(f fs.File) (DataLoader, io.Closer, error) {
	if at, ok := f.(io.ReaderAt); ok {
		info, err := f.Stat()
		if err == nil {
			return section{at, info.Size()}, f, nil
		}
		f.Close()
		return nil, nil, err
	}
	data, err := io.ReadAll(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, err
	}
	return Bytes(data), nil, nil
}
