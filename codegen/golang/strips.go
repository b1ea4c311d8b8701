package golang

import "github.com/etgen/etgen/kernels/loop"

// strips writes an innermost loop as calls of vector primitives if it can be.
func (p *printer) strips(*loop.For) bool { return false }
