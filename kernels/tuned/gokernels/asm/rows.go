//go:build never

package main

// What Package reads the declarations of: the module has to be in go.mod.
import _ "github.com/etgen/etgen/kernels/tuned/gokernels/rows"
