package native

import (
	"sort"

	"github.com/etgen/etgen/plan"
)

// poison inserts, before every step, statements that overwrite what no later
// step may read. A program whose results change by that has read dead memory.
func poison(m *Method, l *layout) error {
	dead, err := plan.Dead(m.Problem)
	if err != nil {
		return err
	}
	p := &poisoner{dead: dead, steps: l.steps, bufs: map[plan.BufferID]*Buffer{}}
	for b, id := range m.Bank {
		if b.Root == nil {
			p.bufs[id] = b
		}
	}
	p.block(&m.Body)
	return nil
}

type poisoner struct {
	dead  [][]plan.BufferID
	steps map[Stmt]int
	bufs  map[plan.BufferID]*Buffer
}

func (p *poisoner) block(block *[]Stmt) {
	var out []Stmt
	for _, s := range *block {
		for i, nested := range Blocks(s) {
			p.block(nested)
			if w, ok := s.(*While); ok && i == 0 {
				w.Head = append(w.Head, p.at(p.steps[s])...)
			}
		}
		if _, ok := s.(*While); !ok {
			out = append(out, p.at(p.steps[s])...)
		}
		out = append(out, s)
	}
	*block = out
}

func (p *poisoner) at(step int) []Stmt {
	ids := append([]plan.BufferID(nil), p.dead[step]...)
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var out []Stmt
	for _, id := range ids {
		if b := p.bufs[id]; b != nil {
			out = append(out, &Poison{Buf: b})
		}
	}
	return out
}
