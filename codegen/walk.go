package codegen

import (
	"github.com/etgen/etgen/lower/native"
)

// Walk calls f for every statement of block and below, outer ones first.
func Walk(block []native.Stmt, f func(native.Stmt)) {
	for _, s := range block {
		f(s)
		for _, b := range native.Blocks(s) {
			Walk(*b, f)
		}
	}
}

// WalkFunction is Walk but for what is in Sections, which is in other functions.
func WalkFunction(block []native.Stmt, f func(native.Stmt)) {
	for _, s := range block {
		f(s)
		if _, apart := s.(*native.Section); apart {
			continue
		}
		for _, b := range native.Blocks(s) {
			WalkFunction(*b, f)
		}
	}
}

// Origins returns the graph nodes that s comes from.
func Origins(s native.Stmt) []native.Origin {
	switch s := s.(type) {
	case *native.Call:
		return s.From
	case *native.Cond:
		return s.From
	case *native.While:
		return s.From
	case *native.For:
		return s.From
	case *native.Let:
		return s.From
	case *native.Assert:
		return s.From
	}
	return nil
}

// Operands returns the buffers that s itself uses, its blocks left out. The
// predicate of a While is among them. A Poison uses none: it writes bytes of the
// arena, and stands where its buffer's size may not be known yet.
func Operands(s native.Stmt) []*native.Buffer {
	switch s := s.(type) {
	case *native.Call:
		return s.Args
	case *native.Cond:
		return []*native.Buffer{s.Pred}
	case *native.While:
		return []*native.Buffer{s.Pred}
	case *native.Let:
		return s.Args
	case *native.Assert:
		return s.Args
	}
	return nil
}
