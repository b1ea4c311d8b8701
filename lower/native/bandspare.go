package native

import (
	"github.com/etgen/etgen/plan"
)

// Microcontrollers have no cache to speak of, and little memory. There bands are
// taken for the arena: of images in the middle of a chain only windows exist, and
// what the chain makes may lie over what it has read already (bandover.go). A band
// of rows is one run of memory only where channels lie innermost, which kernels for
// microcontrollers do not ask for. So a program is built both ways, with row-major
// images and whole calls, and channels-last with bands, and the second is taken if
// it needs less memory by more than what a few calls more are worth.

// A program is made in bands if its arena shrinks by so many percent and bytes: less
// than that is within what a change of the model takes, and each loop of bands
// costs some hundred bytes of code.
const (
	leastPercent = 10
	leastBytes   = 1 << 10
)

// scarce reports whether memory is worth bands.
func (opt Options) scarce() bool {
	_, kept := opt.Planner.(plan.AsIs) // places are given
	return opt.Target.Scarce() && len(opt.Kernels) > 0 &&
		opt.Bands >= 0 && !kept
}

// worthSparing reports whether spare takes so much less memory than whole that
// bands are worth it.
func worthSparing(whole, spare *Program) bool {
	was, is := arenaOf(whole), arenaOf(spare)
	return was-is >= leastBytes && 100*(was-is) >= leastPercent*was
}

// arenaOf is the largest arena of a program's methods.
func arenaOf(p *Program) (most int64) {
	for _, m := range p.Methods {
		most = max(most, m.Plan.Size())
	}
	return most
}

// inUse is where a buffer is in use, in statements of the method's body.
type inUse struct {
	first, last int
	bytes       int64
}

// inUseOf returns where the arena's buffers are in use.
func inUseOf(body []Stmt) map[*Buffer]*inUse {
	uses := map[*Buffer]*inUse{}
	for i, s := range body {
		eachAccess(s, func(a access) {
			b := Root(*a.buf)
			if b.Storage != Arena || b.MaxLen < 0 {
				return
			}
			if uses[b] == nil {
				uses[b] = &inUse{first: i, bytes: b.MaxLen * int64(b.DType.Size())}
			}
			uses[b].last = i
		})
	}
	return uses
}
