// Command strips writes the primitives of kernels/strip that work element by
// element: their loops, their vector forms in assembly, and the Go functions
// that choose between these. What a vector form computes is an expression, and so are the
// functions of kernels/math that have vector forms of their own; the command turns the
// expression into one loop over vectors.
package main

import (
	"flag"
	"go/format"
	"log"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/kernels/tuned/gokernels/asm/cpu"
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", ".", "where to write")
	flag.Parse()
	prims, err := table()
	check(err)
	check(flag.Set("out", filepath.Join(*dir, "vector_amd64.s")))
	ConstraintExpr("!purego")
	for _, p := range prims {
		for _, m := range []machine{avx512, avx2} {
			m.write(p)
		}
	}
	transpose()
	extreme("largest", VMAXPS)
	extreme("smallest", VMINPS)
	rescale()
	cpu.Write(func(name, signature, doc string) {
		TEXT(name, NOSPLIT, signature)
		Doc(doc)
	})
	cpu.GenerateFile()
	all, err := loops(prims)
	check(err)
	for name, text := range map[string]string{"elementwise.go": all,
		"vector_amd64.go": chooseAMD64(prims), "vector_arm64.go": chooseARM64(prims),
		"vector_other.go": chooseNone(prims), "functions.go": functionsFile(prims)} {
		data, err := format.Source([]byte(text))
		check(err)
		check(os.WriteFile(filepath.Join(*dir, name), data, 0o666))
	}
	check(os.WriteFile(filepath.Join(*dir, "vector_arm64.s"), []byte(arm64(prims)), 0o666))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
