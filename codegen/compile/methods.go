package compile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// MethodFile is a model file that becomes methods of a program.
type MethodFile struct {
	// Name is the method's name; "" keeps the names in the file.
	Name string
	Path string
}

// MethodError says that files cannot become the methods that they were named.
type MethodError struct{ text string }

func (e *MethodError) Error() string { return e.text }

func failMethods(format string, args ...any) {
	must.Check(&MethodError{fmt.Sprintf(format, args...)})
}

// Named returns the model files at paths with methods called like the files:
// "decode" for "models/decode.pt2".
func Named(paths ...string) []MethodFile {
	return seq.Map(paths, func(path string) MethodFile {
		return MethodFile{Name: NameOf(path), Path: path}
	})
}

// ReadMethods makes one program of several model files, a method of each, in
// their order. Weights that are equal are one thing in what is compiled from it.
//
// A buffer that a method changes belongs to this method, unless share is set:
// then buffers and parameters of one name are one, in all methods that have the
// name, as ExecuTorch's share_mutable_buffers has it; compiling checks that they
// are of one type and begin with the same elements. Close the closer after compiling.
func ReadMethods(files []MethodFile, share bool) (_ *ir.Program, _ io.Closer, err error) {
	var open closers
	defer func() {
		if err != nil {
			err = errors.Join(err, open.Close())
		}
	}()
	defer must.Catch(&err)
	out := &ir.Program{Dialect: ir.ATen, SeparateState: !share}
	var sources []string
	from := map[string]string{} // file by method
	for _, f := range files {
		p, closer := must.Get2(Read(f.Path))
		open = append(open, closer)
		sources = append(sources, p.Source)
		out.Warnings = append(out.Warnings, p.Warnings...)
		out.Custom = append(out.Custom, seq.Filter(p.Custom, func(s string) bool {
			return !slices.Contains(out.Custom, s)
		})...)
		takeDelegates(out, p)
		if len(p.Methods) > 1 && f.Name != "" {
			if f.Name != NameOf(f.Path) {
				failMethods("%s has %d methods, which cannot all be called %s",
					foreign.Message(p.Source), len(p.Methods), f.Name)
			}
			if f.Name = ""; !share && len(p.SharedState()) > 0 {
				failMethods("%s has methods that share state: it goes together with other files "+
					"only if these may share theirs too", foreign.Message(p.Source))
			}
		}
		for _, m := range p.Methods {
			if f.Name != "" {
				m.Name = f.Name
			}
			if other, ok := from[m.Name]; ok {
				failMethods("method %s is in both %s and %s: give one another name by --method=NAME=FILE",
					foreign.Message(m.Name), foreign.Message(other), foreign.Message(f.Path))
			}
			from[m.Name] = f.Path
			m.Source = p.Source
			out.Methods = append(out.Methods, m)
		}
	}
	if len(out.Methods) == 0 {
		must.Fail("there is no method")
	}
	out.Source = strings.Join(slices.Compact(sources), ", ")
	return out, open, nil
}

// takeDelegates adds p's delegates to those of a program, whose names they may not have.
func takeDelegates(to, p *ir.Program) {
	names := map[string]string{}
	for _, d := range p.Delegates {
		old := d.Name
		for i := 1; to.DelegateNamed(d.Name) != nil; i++ {
			d.Name = fmt.Sprintf("%s_%d", old, i)
		}
		names[old] = d.Name
		to.Delegates = append(to.Delegates, d)
	}
	for _, m := range p.Methods {
		for n := range m.Graph.All() {
			if n.Op != ir.CallDelegate || len(n.Args) == 0 {
				continue
			}
			if name, ok := n.Args[0].Value.(ir.Str); ok && names[string(name)] != "" {
				n.Args[0].Value = ir.Str(names[string(name)])
			}
		}
	}
}
