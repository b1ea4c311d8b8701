package pte

import (
	"fmt"
	"io"
	"os"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// ReadExpansion bounds what Read allocates: at most ReadExpansion times the
// bytes of the file's flatbuffer, whatever they say, and a constant. (For files
// that exporters write it is less than 10 times.) The data of tensors and
// delegates is not part of it, since nothing of it is read.
const ReadExpansion = 128

// Read reads a program from a .pte file of size bytes. The program's blobs are
// ranges of r, which has to stay readable. Read accepts all forms of ET12: with
// and without extended header, constants in a segment or in the flatbuffer. What
// it returns is consistent as a file; whether it is as a program is Verify's
// business.
func Read(r io.ReaderAt, size int64) (*Program, error) {
	p, err := read(r, size)
	if err != nil {
		return nil, fmt.Errorf("pte: %w", err)
	}
	return p, nil
}

func read(r io.ReaderAt, size int64) (*Program, error) {
	f, err := openFile(r, size, "eh00")
	if err != nil {
		return nil, err
	}
	if err := programSchema().Check(f.flat, "FrameList"); err != nil {
		return nil, err
	}
	d := &decoder{file: f, strings: map[string]string{}, frames: map[flatbuffers.UOffsetT][]Frame{}}
	return d.program(program.GetRootAsProgram(f.flat, 0))
}

// Open reads the program in the file at path. The file has to stay open, until
// the Closer closes it, for as long as blobs of the program are read.
func Open(path string) (*Program, io.Closer, error) { return open(path, Read) }

// open opens the file at path and reads it; errors name the file.
func open[T any](path string, read func(io.ReaderAt,
	int64) (T, error)) (t T, _ io.Closer, err error) {
	// Others are not opened: a pipe waits for who writes to it.
	info, err := os.Stat(path)
	if err != nil {
		return t, nil, err
	}
	if !info.Mode().IsRegular() {
		return t, nil, fmt.Errorf("%s: it is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return t, nil, err
	}
	if info, err = f.Stat(); err == nil {
		t, err = read(f, info.Size())
	}
	if err != nil {
		f.Close()
		return t, nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, f, nil
}

// decoder makes a Program of a checked flatbuffer.
type decoder struct {
	*file
	strings map[string]string // those met, so that equal ones are stored once
	// lists met, by position; several instructions share one
	frames   map[flatbuffers.UOffsetT][]Frame
	defects  []string
	segments []ir.Blob
}

func (d *decoder) string(b []byte) string {
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

// need notes that the field id of tab, which a runtime requires, is absent. It is
// called name in the table at path.
func (d *decoder) need(tab flatbuffers.Table, id int, path path, name string) {
	if tab.Offset(flatbuffers.VOffsetT(4+2*id)) == 0 && len(d.defects) < maxProblems {
		d.defects = append(d.defects, path.String()+"."+name+" is absent")
	}
}

// path is where a table is in its parent: member[index]. It is made for every
// table and becomes a text for few.
type path struct {
	parent *path
	member string
	index  int
}

func (p path) String() string {
	s := fmt.Sprintf("%s[%d]", p.member, p.index)
	if p.parent != nil {
		s = p.parent.String() + "." + s
	}
	return s
}

// list returns the n elements that at returns; nil for none.
func list[T any](n int, at func(int) T) []T {
	if n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		l[i] = at(i)
	}
	return l
}

// each returns the n tables that at sets, decoded; nil for none. Errors name
// their place themselves.
func each[E, T any](n int, at func(*E, int) bool, decode func(*E, int) (T, error)) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	l := make([]T, n)
	var e E
	for i := range l {
		at(&e, i)
		t, err := decode(&e, i)
		if err != nil {
			return nil, err
		}
		l[i] = t
	}
	return l, nil
}

func (d *decoder) program(s *program.Program) (*Program, error) {
	p := &Program{Version: s.Version()}
	if tab := s.Table(); tab.Offset(4+2) == 0 {
		d.defects = append(d.defects, "execution_plan is absent")
	}
	var err error
	d.segments, err = each(s.SegmentsLength(), s.Segments, func(x *program.DataSegment,
		i int) (ir.Blob, error) {
		b, err := d.segment(x.Offset(), x.Size())
		if err != nil {
			return nil, fmt.Errorf("segments[%d]: %w", i, err)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	p.Plans, err = each(s.ExecutionPlanLength(), s.ExecutionPlan, func(x *program.ExecutionPlan,
		i int) (*ExecutionPlan, error) {
		return d.plan(x, s, path{nil, "execution_plan", i})
	})
	if err != nil {
		return nil, err
	}
	p.Named, err = each(s.NamedDataLength(), s.NamedData, func(x *program.NamedData,
		i int) (NamedData, error) {
		d.need(x.Table(), 0, path{nil, "named_data", i}, "key")
		if int64(x.SegmentIndex()) >= int64(len(d.segments)) {
			return NamedData{}, fmt.Errorf("named_data[%d]: segment %d of %d", i, x.SegmentIndex(),
				len(d.segments))
		}
		return NamedData{Key: d.string(x.Key()), Data: d.segments[x.SegmentIndex()]}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := d.data(s, p); err != nil {
		return nil, err
	}
	p.Defects = d.defects
	return p, nil
}
