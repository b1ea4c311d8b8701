package codegen

import (
	"slices"

	"github.com/etgen/etgen/lower/native"
)

// A compiler's time for a function grows faster than the function, and so does
// its memory. So the text of a large program has no large function. What stands
// in a function is weighed: a statement is 1, and so is each of its operands, and
// in a kernel each operation.
const (
	// MaxWeight is from which weight on statements are divided. Blocks stay whole
	// that have no more, so a function of nested blocks may weigh a few times that.
	MaxWeight = 1000
	// sectionWeight is what the call of another function weighs.
	sectionWeight = 8
)

// maxKernel is the most that a kernel of several loops weighs, each of which
// becomes many instructions.
func maxKernel(weight int) int { return weight / 2 }

// Alike is how many statements or tests of one kind stand in a function that has
// one for each argument or state.
func Alike(weight int) int { return max(2, weight/32) }

// Divide returns p with Sections around statements of blocks that weigh more than
// weight, and with kernels of independent loops that weigh too much in several
// kernels. A program without these stays as it is. If probes, as Probes gives
// them, has a number for a call of such a kernel, it passes to the last of the
// calls that take its place.
func Divide(p *native.Program, weight int, probes map[*native.Call]int) *native.Program {
	d := &divider{most: weight, probes: probes, pieces: map[*native.Kernel][]*piece{}}
	out := *p
	out.Kernels = d.kernels(p.Kernels)
	out.Methods = nil
	for _, m := range p.Methods {
		own := *m
		own.Body, _ = d.block(m.Body)
		out.Methods = append(out.Methods, &own)
	}
	return &out
}

// Divided reports whether there are Sections in a method's statements.
func Divided(stmts []native.Stmt) bool { return has[*native.Section](stmts) }

// Fails reports whether statements can end their method with an error.
func Fails(stmts []native.Stmt) bool { return has[*native.Assert](stmts) }

// has reports whether there is a statement of a kind.
func has[S native.Stmt](stmts []native.Stmt) bool {
	found := false
	Walk(stmts, func(s native.Stmt) {
		_, is := s.(S)
		found = found || is
	})
	return found
}

type divider struct {
	most   int // that a function weighs
	probes map[*native.Call]int
	pieces map[*native.Kernel][]*piece // of kernels that are divided
}

// block returns statements with large blocks in them divided, and their weight.
// Nothing that they declare is lost behind a Section: buffers' locals are where
// they are used, and numbers read at run time have a place of their own.
func (d *divider) block(stmts []native.Stmt) ([]native.Stmt, int) {
	var out []native.Stmt
	var weights []int
	for _, s := range stmts {
		for _, s := range d.calls(s) {
			s, w := d.stmt(s)
			out, weights = append(out, s), append(weights, w)
		}
	}
	total := sum(weights)
	for total > d.most && len(out) > 1 {
		before := total
		out, weights = d.sections(out, weights, total)
		if total = sum(weights); total >= before {
			break
		}
	}
	return out, total
}

// stmt returns s with the blocks in it divided, and its weight.
func (d *divider) stmt(s native.Stmt) (native.Stmt, int) {
	own := 1 + len(Operands(s))
	if call, ok := s.(*native.Call); ok {
		own += len(call.Ints) + len(call.Scalars)
	}
	block := func(b []native.Stmt) []native.Stmt {
		b, w := d.block(b)
		own += w
		return b
	}
	switch t := s.(type) {
	case *native.Cond:
		c := *t
		c.Then, c.Else = block(t.Then), block(t.Else)
		s = &c
	case *native.While:
		c := *t
		c.Head, c.Body = block(t.Head), block(t.Body)
		s = &c
	case *native.For:
		c := *t
		c.Body = block(t.Body)
		s = &c
	}
	return s, own
}

// sections puts neighbours into Sections of about the same weight.
func (d *divider) sections(
	stmts []native.Stmt, weights []int, total int,
) (out []native.Stmt, ofOut []int) {
	count := (total + d.most - 1) / d.most
	first, weight, done := 0, 0, 0
	end := func(next int) {
		s, w := stmts[first], weights[first]
		if next > first+1 || w > sectionWeight {
			s, w = &native.Section{Body: slices.Clone(stmts[first:next])}, sectionWeight
		}
		out, ofOut = append(out, s), append(ofOut, w)
		first, weight = next, 0
	}
	for i, w := range weights {
		if i > first && (weight+w > d.most || (done+w/2)*count > total*(len(out)+1)) {
			end(i)
		}
		weight += w
		done += w
	}
	end(len(stmts))
	return out, ofOut
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
