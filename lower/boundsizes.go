package lower

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
)

// BoundError is a bound that the program cannot have.
type BoundError struct{ reason string }

func (e *BoundError) Error() string { return e.reason }

// BoundSizes gives sizes the upper bounds of Context.Bounds, by the names of their
// symbols: memory is planned for them. As with the bounds of the file, a call with a
// larger size is refused.
var BoundSizes = Pass{
	Name: "bound-sizes",
	Doc:  "with --bound: bound sizes by name",
	Run: func(ctx *Context, p *ir.Program) error {
		if len(ctx.Bounds) == 0 {
			return nil
		}
		var names []string
		known := map[string]bool{}
		for _, m := range p.Methods {
			if err := boundSizes(m, ctx.Bounds); err != nil {
				return err
			}
			for _, s := range m.Symbols {
				if !known[s.Name] {
					known[s.Name] = true
					names = append(names, foreign.Message(s.Name))
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ctx.Bounds)) {
			if !known[name] {
				have := "its sizes are fixed"
				if len(names) > 0 {
					have = "it has " + strings.Join(names, ", ")
				}
				return &BoundError{fmt.Sprintf("--bound=%s: the model has no size of that name; %s",
					foreign.Message(name), have)}
			}
		}
		return nil
	},
}

func boundSizes(m *ir.Method, bounds map[string]int64) error {
	now := map[*sym.Symbol]*sym.Symbol{}
	for i, s := range m.Symbols {
		most, ok := bounds[s.Name]
		if !ok {
			continue
		}
		lo, hi := s.Expr().Bounds()
		if most < lo {
			return &BoundError{fmt.Sprintf("--bound=%s=%d: it is at least %d",
				foreign.Message(s.Name), most, lo)}
		}
		if hi <= most {
			continue
		}
		m.Symbols[i] = &sym.Symbol{Name: s.Name, Lo: s.Lo, Hi: sym.Int(most)}
		now[s] = m.Symbols[i]
	}
	m.MapSizes(func(e sym.Expr) sym.Expr {
		return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			if t := now[s]; t != nil {
				return t.Expr(), true
			}
			return sym.Expr{}, false
		})
	})
	return nil
}
