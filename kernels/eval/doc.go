// Package eval runs kernels in Go. Run executes the loop form with the exact
// arithmetic of every dtype: it folds constants in the compiler and is what
// generated code is compared with.
//
// Buffers are little-endian bytes of dense elements; Bool takes one byte.
package eval
