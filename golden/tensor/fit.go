package tensor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Fit reports what keeps values from being the inputs of a graph: another kind,
// dtype or number of dimensions, a size that is another, out of its range, or does
// not go with the sizes before it. There is a value for each input; those that are
// no tensor and no number, parts of the program, are not looked at.
func Fit(inputs []*ir.Value, values []Value) error {
	known := map[*sym.Symbol]int64{}
	for i, in := range inputs {
		if err := fit(in.Type, values[i], known); err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
	}
	return nil
}

func fit(t ir.Type, v Value, known map[*sym.Symbol]int64) error {
	t = t.RealParts()
	wrong := func(why string) error {
		return fmt.Errorf("it is %v, the model takes %v%s", v, t, why)
	}
	switch t.Kind {
	case ir.TensorKind:
	case ir.IntKind:
		n, ok := v.Scalar.(ir.Int)
		if !ok {
			return wrong("")
		}
		if t.HasExpr {
			if why := size(t.Expr, int64(n), known); why != "" {
				return wrong(why)
			}
		}
		return nil
	default:
		return nil
	}
	x := v.Tensor
	if x == nil || x.DType != t.DType || len(x.Shape) != len(t.Sizes) {
		return wrong("")
	}
	for d, e := range t.Sizes {
		if why := size(e, x.Shape[d], known); why != "" {
			return wrong(why)
		}
	}
	return x.Check()
}

// size returns why n is not what e stands for, "" if it is. It solves e for a
// symbol that is not known yet.
func size(e sym.Expr, n int64, known map[*sym.Symbol]int64) string {
	env := func(s *sym.Symbol) (int64, bool) {
		k, ok := known[s]
		return k, ok
	}
	var open *sym.Symbol
	for _, s := range e.Symbols() {
		if _, ok := known[s]; ok {
			continue
		}
		if open != nil {
			return "" // later sizes may tell
		}
		open = s
	}
	if open == nil {
		want, err := e.Eval(env)
		switch {
		case err != nil:
			return ": " + err.Error()
		case want == n:
			return ""
		case len(e.Symbols()) == 0:
			return fmt.Sprintf(": a size is %d, not %d", n, want)
		}
		return fmt.Sprintf(": %v is %d after the sizes before it, not %d", e, want, n)
	}
	coef, rest, linear := e.Coef(open)
	if !linear {
		return ""
	}
	a, errA := coef.Eval(env)
	b, errB := rest.Eval(env)
	if errA != nil || errB != nil || a == 0 {
		return ""
	}
	if (n-b)%a != 0 {
		return fmt.Sprintf(": no %s makes %v %d", open.Name, e, n)
	}
	k := (n - b) / a
	known[open] = k
	if lo, hi := open.Expr().Bounds(); k < lo || k > hi {
		text := fmt.Sprintf("at least %d", lo)
		if hi != math.MaxInt64 {
			text = fmt.Sprintf("%d to %d", lo, hi)
		}
		return fmt.Sprintf(": %s is %s, not %d", open.Name, text, k)
	}
	return ""
}

// ParseBytes reads a number of bytes: 4096, 64KiB, 64k, 1.5GiB, 4G. Units are powers of 1024.
func ParseBytes(text string) (int64, error) {
	given := text
	text = strings.Replace(text, "k", "K", 1)
	number, unit := strings.TrimRight(text, "KMGTiB"), int64(1)
	switch suffix := strings.TrimSuffix(strings.TrimSuffix(text[len(number):], "B"), "i"); suffix {
	case "":
	case "K", "M", "G", "T":
		unit = 1 << (10 * (1 + strings.Index("KMGT", suffix)))
	default:
		return 0, fmt.Errorf("%q is no number of bytes: take 512MiB, 4GiB or the like", given)
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*float64(unit) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no number of bytes: take 512MiB, 4GiB or the like", given)
	}
	return int64(n * float64(unit)), nil
}

// FormatBytes writes a number of bytes for people: 4 GiB, 1.5 MiB, 12 bytes.
func FormatBytes(n int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if one := int64(1) << (10 * (4 - i)); n >= one {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(one), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
