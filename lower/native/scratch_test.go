package native

import (
	"fmt"
	"os"
	"testing"

	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/plan"
)

func TestScratch(t *testing.T) {
	p, c, err := pt2.Read(os.Getenv("M"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if os.Getenv("V") != "" {
		fmt.Println(p)
	}
	if err := lower.Backend.Run(&lower.Context{Table: ops.Standard()}, p, nil); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("V") != "" {
		fmt.Println(p)
	}
	np, err := Build(p, Options{Table: ops.Standard(), Planner: plan.Best{}, Kernels: kern(), Target: tuned.Target{Lang: "c", Name: "generic", Speed: true}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(np)
}

func kern() []*tuned.Kernel {
	if os.Getenv("T") == "" {
		return nil
	}
	return tuned.Standard()
}
