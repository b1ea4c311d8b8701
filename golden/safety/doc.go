// Package safety holds the three safety nets: programs give the same bytes
// planned and with disjoint, poisoned buffers; every entry of the operator
// table computes the same in the interpreter, in C and in Go; and generated C
// runs clean under sanitizers.
package safety
