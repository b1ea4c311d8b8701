package pt2

import (
	"archive/zip"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// Limits on what is read into memory. PyTorch stores all members; archives
// packed again by other tools may be compressed within these bounds.
const (
	maxJSON  = 1 << 30 // bytes of a graph or config
	maxRatio = 200     // of a compressed member larger than smallMember
	// smallMember is what a compressed member may always have.
	smallMember = 1 << 20
	// maxInflated bounds a compressed member.
	maxInflated = 1 << 30
)

// archive is a model's files: a zip or a folder.
type archive struct {
	fs.FS
	zip   *zip.Reader // nil for a folder
	raw   io.ReaderAt
	size  int64
	files map[string]*zip.File
}

func openZip(r io.ReaderAt, size int64) *archive {
	z, err := zip.NewReader(r, size)
	if err != nil {
		p := problem("not a readable zip archive").hint(
			"the file is truncated or damaged; copy or export it again")
		p.Err = err
		panic(p)
	}
	a := &archive{FS: z, zip: z, raw: r, size: size, files: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		if a.files[f.Name] != nil {
			panic(problem("the archive has two members called %q", f.Name))
		}
		a.files[f.Name] = f
	}
	return a
}

// read returns a whole file, at most limit bytes. Zip members are checked
// against their CRC.
func (a *archive) read(name string, limit int64) (_ []byte, err error) {
	defer must.Catch(&err)
	if f := a.files[name]; f != nil {
		checkMember(f)
	}
	a.regular(name)
	f, err := a.Open(name)
	if err != nil {
		return nil, missing(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, &Error{Member: name, Problem: "cannot read it", Err: err,
			Hint: "the file is truncated or damaged"}
	}
	if int64(len(data)) > limit {
		return nil, &Error{Member: name, Problem: "it is larger than etgen reads"}
	}
	return data, nil
}

// regular returns what is known of a regular file. Others are not opened: a device
// has no end, and to open a pipe is to wait for who writes to it.
func (a *archive) regular(name string) fs.FileInfo {
	info, err := fs.Stat(a.FS, name)
	if err != nil {
		panic(missing(name, err))
	}
	if !info.Mode().IsRegular() {
		panic(&Error{Member: name, Problem: "it is no regular file"})
	}
	return info
}

// blob returns a file to be read in parts when needed. Zip members are read once
// before, and checked against their CRC.
func (a *archive) blob(name string) ir.Blob {
	if a.zip == nil {
		info := a.regular(name)
		return &fileBlob{a.FS, name, info.Size()}
	}
	f := a.files[name]
	if f == nil {
		panic(missing(name, fs.ErrNotExist))
	}
	checkMember(f)
	if f.Method != zip.Store {
		return ir.Bytes(must.Get(a.read(name, maxInflated)))
	}
	off, err := f.DataOffset()
	size := int64(f.UncompressedSize64)
	if err != nil || f.CompressedSize64 != f.UncompressedSize64 || size < 0 || off > a.size-size {
		panic(&Error{Member: name, Problem: "its data lies outside the archive", Err: err,
			Hint: "the file is truncated or damaged"})
	}
	data := io.NewSectionReader(a.raw, off, size)
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(a.raw, off, size)); err != nil {
		panic(&Error{Member: name, Problem: "cannot read it", Err: err,
			Hint: "the file is truncated or damaged"})
	}
	if sum.Sum32() != f.CRC32 {
		panic(&Error{Member: name,
			Problem: "its bytes do not have the CRC-32 that the archive says",
			Hint: "the file is damaged, or was written with " +
				"torch.serialization.set_crc32_options(False); export the model again"})
	}
	return data
}

// checkMember refuses members that inflate to far more than they take.
func checkMember(f *zip.File) {
	n, packed := f.UncompressedSize64, f.CompressedSize64
	if f.Method != zip.Store && n > smallMember && (n > maxInflated || n/maxRatio > packed) {
		panic(&Error{Member: f.Name,
			Problem: "it is compressed beyond the limit of 200:1 or 1 GiB",
			Hint:    "pack the archive without compression (zip -0)"})
	}
}

func (a *archive) exists(name string) bool {
	info, err := fs.Stat(a.FS, name)
	return err == nil && info.Mode().IsRegular()
}

func missing(name string, err error) *Error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Member: name, Problem: "the file is missing", Err: err,
			Hint: "the model is incomplete; export it again"}
	}
	return &Error{Member: name, Problem: "cannot open it", Err: err}
}

// fileBlob opens its file for each read, so that a model of a thousand weights
// holds no thousand open files.
type fileBlob struct {
	fsys fs.FS
	name string
	size int64
}

func (b *fileBlob) Size() int64 { return b.size }

func (b *fileBlob) ReadAt(p []byte, off int64) (int, error) {
	f, err := b.fsys.Open(b.name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if r, ok := f.(io.ReaderAt); ok {
		return r.ReadAt(p, off)
	}
	if _, err := io.CopyN(io.Discard, f, off); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(f, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
