package quantize

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// The results of an arithmetic do not change: of each operator that is computed with integers, in
// float and in fixed point, arithmetic.txt has a digest of them. Where one is another on purpose,
// Arithmetic gets a new version, docs/quantisation.md says what differs, and the file is written
// anew.
func TestArithmetic(t *testing.T) {
	const golden = "testdata/arithmetic.txt"
	files, err := filepath.Glob("../testdata/integer-arithmetic*/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var got strings.Builder
	fmt.Fprintln(&got, Arithmetic)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fixed := range []bool{false, true} {
			fmt.Fprintf(&got, "%x fixed=%v %s\n", digestOf(t, string(archive.Files[0].Data), fixed), fixed,
				filepath.ToSlash(strings.TrimPrefix(file, "../testdata/")))
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !strings.HasPrefix(string(want), Arithmetic+"\n") {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s is not of %s: it was written anew", golden, Arithmetic)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		known[line] = true
	}
	for line := range strings.Lines(got.String()) {
		if !known[line] {
			t.Errorf("%s lacks %q: a result of %s is another, or a case is new", golden,
				strings.TrimSpace(line), Arithmetic)
		}
	}
}

// digestOf is that of what the integers of a program are for random inputs.
func digestOf(t *testing.T, text string, fixed bool) []byte {
	t.Helper()
	p := parsed(t, text)
	ctx := &lower.Context{Table: ops.Standard(), Fixed: fixed}
	if err := (lower.Pipeline{Passes: []lower.Pass{lower.IntegerArithmetic}}).Run(ctx, p,
		nil); err != nil {
		t.Fatal(err)
	}
	r, sum, g := rand.New(rand.NewPCG(7, 8)), sha256.New(), p.Methods[0].Graph
	for range 2 {
		var inputs []interp.Value
		for _, v := range g.Inputs {
			sizes, _ := v.Type.StaticSizes()
			n, _ := v.Type.Numel().Const()
			raw := make([]byte, int(n)*v.Type.DType.Size())
			for i := range raw {
				raw[i] = byte(r.Uint32())
			}
			if v.Type.DType == ir.Float32 {
				for i := range n {
					bits := math.Float32bits(float32(r.NormFloat64()))
					copy(raw[4*i:], []byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
				}
			}
			inputs = append(inputs, interp.Tensor(v.Type.DType, sizes, raw))
		}
		outs, err := interp.New(ctx.Table).Graph(g, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outs {
			sum.Write(o.Tensor.Data)
		}
	}
	return sum.Sum(nil)[:8]
}
