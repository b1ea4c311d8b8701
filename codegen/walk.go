package codegen

import (
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// Blocks returns the blocks directly in s, in the order in which they run.
func Blocks(s native.Stmt) [][]native.Stmt {
	switch s := s.(type) {
	case *native.Cond:
		return [][]native.Stmt{s.Then, s.Else}
	case *native.While:
		return [][]native.Stmt{s.Head, s.Body}
	case *native.For:
		return [][]native.Stmt{s.Body}
	}
	return nil
}

// Walk calls f for every statement of block and below, outer ones first.
func Walk(block []native.Stmt, f func(native.Stmt)) {
	for _, s := range block {
		f(s)
		for _, b := range Blocks(s) {
			Walk(b, f)
		}
	}
}

// Operands returns the buffers that s itself uses, its blocks left out. The
// predicate of a While is among them.
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
	case *native.Poison:
		return []*native.Buffer{s.Buf}
	}
	return nil
}

// Root returns the buffer that owns b's memory.
func Root(b *native.Buffer) *native.Buffer {
	if b.Root != nil {
		return b.Root
	}
	return b
}

// Written reports whether a kernel writes its operand i.
func Written(k *native.Kernel, i int) bool {
	if k.Loop != nil {
		return k.Loop.Bufs[i].Role != loop.In
	}
	return i == 0 || k.IsScratch(i)
}
