package golang_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

const shared = "../../../shared"

func generate(name, path string, disjoint bool) (*codegen.Package, *native.Program, error) {
	p, closer, err := pt2.Read(path)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	ctx := &lower.Context{Table: ops.Standard()}
	if err := lower.Backend.Run(ctx, p, nil); err != nil {
		return nil, nil, err
	}
	opt := native.Options{Table: ops.Standard(), Planner: plan.Best{}, Kernels: tuned.Standard(), Target: tuned.Target{Lang: "go", Name: "generic", Speed: true}}
	np, err := native.Build(p, opt)
	if err != nil {
		return nil, nil, err
	}
	pkg, err := golang.Generate(np, golang.Options{Name: name})
	return pkg, np, err
}

func TestLook(t *testing.T) {
	for _, name := range []string{"add", "lenet", "lstm", "cond", "dynamic_batch", "counter_buffer", "while_loop", "sin", "kws_trained", "nanogpt_sdpa", "static_kv_prefill"} {
		pkg, _, err := generate(name, filepath.Join(shared, "models", name, "model.pt2"), false)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		dir := "/tmp/gw/look/" + pkg.Name
		os.MkdirAll(dir, 0o777)
		if err := pkg.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
}
