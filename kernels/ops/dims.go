package ops

import (
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// dim returns an int argument as a dimension of a tensor of the given rank;
// negative ones count from the end. A tensor without dimensions counts as
// having one.
func (c *Call) dim(name string, rank int) (int, error) {
	n, err := c.Int(name)
	if err != nil {
		return 0, err
	}
	return c.wrapDim(n, rank)
}

func (c *Call) wrapDim(n int64, rank int) (int, error) {
	r := int64(max(rank, 1))
	if n < -r || n >= r {
		return 0, c.Errorf("dimension %d of a tensor with %d", n, rank)
	}
	if n < 0 {
		n += r
	}
	return int(n), nil
}

// dims returns an int[] argument as a set of dimensions: set[d] tells whether
// d is in it. None, and where ATen means so the empty list, stand for all.
func (c *Call) dims(name string, rank int, emptyIsAll bool) ([]bool, error) {
	set := make([]bool, rank)
	var ns []int64
	if c.Has(name) {
		var err error
		if ns, err = c.Ints(name); err != nil {
			return nil, err
		}
	}
	if !c.Has(name) || len(ns) == 0 && emptyIsAll {
		for d := range set {
			set[d] = true
		}
		return set, nil
	}
	seen := make([]bool, max(rank, 1))
	for _, n := range ns {
		d, err := c.wrapDim(n, rank)
		if err != nil {
			return nil, err
		}
		if seen[d] {
			return nil, c.Errorf("dimension %d is given twice", d)
		}
		seen[d] = true
	}
	copy(set, seen)
	return set, nil
}

// zeros returns the coordinates of the first element.
func zeros(rank int) []sym.Expr { return make([]sym.Expr, rank) }

// one returns a single result type.
func one(t ir.Type, err error) ([]ir.Type, error) {
	if err != nil {
		return nil, err
	}
	return []ir.Type{t}, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
