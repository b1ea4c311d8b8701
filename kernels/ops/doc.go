// Package ops is the one table of operators. An entry is written once and
// serves shape and dtype inference, constant folding, generated C and Go, the
// runtime and the documentation.
package ops
