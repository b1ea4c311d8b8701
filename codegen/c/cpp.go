package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
)

// cppTensor is the type of tensors of fixed sizes in NAME.hpp: a pointer whose length is checked
// where it comes from an array.
const cppTensor = `#ifndef %[1]s_HPP
#define %[1]s_HPP

#include "%[2]s.h"

/* The N elements of a tensor: of an array, or at a pointer. */
template <class T, size_t N> class %[2]s_tensor {
public:
    %[2]s_tensor(T (&elements)[N]) : data_(elements) {}
    explicit %[2]s_tensor(T *elements) : data_(elements) {}
    T *data() const { return data_; }
    static constexpr size_t size() { return N; }

private:
    T *data_;
};
`

// cppNames are the names that NAME.hpp has besides those of NAME.h.
func (g *gen) cppNames() []string {
	return []string{g.prefix + "_tensor", g.prefix + "_model", g.upper + "_HPP"}
}

// cppHeader is NAME.hpp: a class of C++11 around what NAME.h declares.
func (g *gen) cppHeader() string {
	w := &writer{}
	var holds, members []string
	begin := ""
	class := g.prefix + "_model"
	head := class + "()"
	for _, m := range g.methods {
		if m.arena > 0 {
			p := g.arenaParameter()
			head = fmt.Sprintf("explicit %s(%s)", class, p.decl)
			begin = " : arena_(" + p.name + ")"
			members = []string{strings.TrimSuffix(p.decl, p.name) + "arena_;"}
			holds = append(holds, "where its arena is")
			break
		}
	}
	if len(g.fields) > 0 {
		members = append(members, g.prefix+"_state state_;")
		holds = append(holds, "its state")
	}
	about := "The model. It holds nothing."
	if holds != nil {
		about = "The model. It holds " + strings.Join(holds, ", and ") + "."
	}
	w.remark(append([]string{g.banner(g.prefix + ".hpp"), ""}, fill(about+" Methods are as "+
		g.prefix+".h describes them.", lineWidth-3)...))
	w.raw(fmt.Sprintf(cppTensor, g.upper, g.prefix))
	w.raw("class " + class + " {")
	w.raw("public:")
	text := head + begin
	if len(g.fields) == 0 {
		w.raw("    " + text + " {}")
	} else {
		w.raw("    " + text + " { reset(); }")
		w.raw(fmt.Sprintf("    void reset() { ::%s_reset(&state_); }", g.prefix))
		w.raw(fmt.Sprintf("    %s_state &state() { return state_; }", g.prefix))
		if g.byRows() {
			w.raw(fmt.Sprintf("    void rows_begin() { ::%s_rows_begin(&state_); }", g.prefix))
		}
	}
	names := codegen.NewScope(nil)
	reserve(names)
	names.Reserve(append(g.ownNames(), "reset", "state", "rows_begin")...)
	names.Reserve(g.cppNames()...)
	for _, m := range g.methods {
		g.cppMethod(w, m, names.Take(strings.TrimPrefix(m.name, g.prefix+"_")))
	}
	if members != nil {
		w.blank()
		w.raw("private:")
		for _, m := range members {
			w.raw("    " + m)
		}
	}
	w.raw("};")
	w.blank()
	w.raw("#endif")
	return w.b.String()
}

// cppMethod prints the member function that calls m.
func (g *gen) cppMethod(w *writer, m *method, name string) {
	fixed := map[string]int64{} // elements of tensors of fixed sizes
	number := map[string]bool{} // outputs that are numbers
	for _, p := range m.ports {
		if p.Buf == nil {
			number[p.name] = p.Output
		} else if n, ok := p.Buf.Len.Const(); ok && n > 0 && (m.Rows == nil || p.Output) {
			fixed[p.name] = n
		}
	}
	var decls, args []string
	for _, p := range g.params(m) {
		typ, isPointer := strings.CutSuffix(p.decl, " *"+p.name)
		switch n := fixed[p.name]; {
		case p.name == stateParam && strings.HasPrefix(p.decl, g.prefix+"_state "):
			args = append(args, "&this->state_")
		case p.name == arenaParam || p.name == arenasParam:
			args = append(args, "this->arena_")
		case n > 0:
			decls = append(decls, fmt.Sprintf("%s_tensor<%s, %d> %s", g.prefix, typ, n, p.name))
			args = append(args, p.name+".data()")
		case isPointer && (number[p.name] || p.name == sizesParam):
			decls, args = append(decls, typ+" &"+p.name), append(args, "&"+p.name)
		default:
			decls, args = append(decls, p.decl), append(args, p.name)
		}
	}
	w.blank()
	w.raw(fmt.Sprintf("    %s_status %s(%s)", g.prefix, name, strings.Join(decls, ", ")))
	w.raw("    {")
	w.raw(fmt.Sprintf("        return ::%s(%s);", m.name, strings.Join(args, ", ")))
	w.raw("    }")
}
