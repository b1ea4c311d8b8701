package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// of reports on a case.
func of(t *testing.T, name string, opt compile.Options) *report.Report {
	t.Helper()
	p, closer, err := compile.Read("../../golden/cases/" + name + "/model.pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt.Name = "net"
	_, r, err := compile.Reported(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Layers have all of the weights, one is the peak of the arena, and multiply-accumulates are
// those of the definition, patches or not.
func TestLayers(t *testing.T) {
	for _, target := range []string{"cortex-m4", "cortex-m0", "generic"} {
		r := of(t, "lenet", compile.Options{Target: target})
		m := r.Methods[0]
		weights, arena, macs, instructions := int64(0), int64(0), int64(0), int64(0)
		for _, l := range m.Layers {
			weights += l.Weights
			arena = max(arena, l.Arena)
			macs += l.MACs
			instructions += l.Instructions
			if l.Name.IsEmpty() || l.Calls == 0 || l.Kernel == "" || l.Arena > m.Arena {
				t.Errorf("%s: %+v", target, l)
			}
		}
		if weights != r.Weights {
			t.Errorf("%s: layers have %d bytes of weights of %d", target, weights, r.Weights)
		}
		if arena < m.LowerBound || m.Arena != r.Arena || r.Arena == 0 {
			t.Errorf("%s: a layer has %d bytes of the arena of %d, not below %d", target, arena, r.Arena,
				m.LowerBound)
		}
		// two convolutions and two linear layers
		if macs != m.MACs || macs != 10800+1728+160+50 {
			t.Errorf("%s: %d multiply-accumulates", target, macs)
		}
		known := target == "cortex-m4" // floats without a unit for them have no rates
		if (instructions > 0) != known || instructions != m.Instructions ||
			(r.Code > 0) != (target != "generic") {
			t.Errorf("%s: instructions %d, code %d", target, instructions, r.Code)
		}
	}
}

// What a backend compiled is weight of the layers that call it. What lies between constants in
// memory is none.
func TestWeights(t *testing.T) {
	xnnpack := []*partition.Use{{Backend: xnn.Backend{}}}
	for name, opt := range map[string]compile.Options{
		"lenet":     {Backends: xnnpack},
		"cond":      {Backends: xnnpack},
		"constants": {Weights: codegen.WeightsAsm},
	} {
		r, weights := of(t, name, opt), int64(0)
		for _, l := range r.Methods[0].Layers {
			weights += l.Weights
		}
		if weights != r.Weights || weights == 0 {
			t.Errorf("%s: layers have %d bytes of weights of %d", name, weights, r.Weights)
		}
	}
}

// Measured code takes the place of the estimate; clones of a function are parts of it, and
// layers with one kernel have it once.
func TestMeasure(t *testing.T) {
	r := of(t, "lenet", compile.Options{Target: "cortex-m4"})
	kernel := r.Methods[0].Layers[0].Kernel
	r.Measure(5000, map[string]int64{"net_" + kernel: 100, "net_" + kernel + ".constprop.0": 20,
		"net_forward": 300})
	sum := int64(0)
	for _, l := range r.Methods[0].Layers {
		sum += l.Code
	}
	if sum != 120 || r.Code != 5000 || !r.Measured {
		t.Errorf("layers have %d bytes of code: %+v", sum, r)
	}
	var text bytes.Buffer
	if err := r.Markdown(&text); err != nil || strings.Count(text.String(), "```") != 2 ||
		!strings.Contains(text.String(), "Code is measured") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// A layer that is made in patches is one layer.
func TestPatches(t *testing.T) {
	r := of(t, "lenet", compile.Options{Target: "cortex-m4", Patches: 2})
	whole := of(t, "lenet", compile.Options{Target: "cortex-m4", Patches: -1})
	if len(r.Methods[0].Layers) > len(whole.Methods[0].Layers)+2 ||
		r.Methods[0].MACs != whole.Methods[0].MACs {
		t.Errorf("%d layers in patches, %d whole; %d and %d multiply-accumulates",
			len(r.Methods[0].Layers), len(whole.Methods[0].Layers), r.Methods[0].MACs,
			whole.Methods[0].MACs)
	}
}
