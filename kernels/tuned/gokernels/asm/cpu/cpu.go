// Package cpu writes the functions that tell a program which vectors its processor has.
package cpu

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Write writes cpuid and xgetbv; begin writes what each begins with.
func Write(begin func(name, signature, doc string)) {
	begin("cpuid", "func(leaf, part uint32) (a, b, c, d uint32)", "cpuid executes CPUID.")
	Load(Param("leaf"), reg.EAX)
	Load(Param("part"), reg.ECX)
	CPUID()
	Store(reg.EAX, Return("a"))
	Store(reg.EBX, Return("b"))
	Store(reg.ECX, Return("c"))
	Store(reg.EDX, Return("d"))
	RET()

	begin("xgetbv", "func() uint32", "xgetbv returns the low half of extended control register 0.")
	XORL(reg.ECX, reg.ECX)
	XGETBV()
	Store(reg.EAX, ReturnIndex(0))
	RET()
}
