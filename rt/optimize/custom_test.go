package optimize

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

const scale = "my::scale(Tensor x, Tensor w) -> Tensor"

// scaled is the program of twice with a custom operator instead of the product.
func scaled() *pte.Program {
	p := twice()
	for _, plan := range p.Plans {
		plan.Operators[0].Name = "my::scale"
	}
	return p
}

// loadScaled loads a method of scaled; prepare is the kernel's.
func loadScaled(p *rt.Program, prepare func(*rt.Call) error, o *Options) error {
	options := &rt.MethodOptions{Memory: &rt.MemoryManager{Limit: 1 << 20},
		Registry: rt.NewRegistry(rt.Kernel{Name: "my::scale.out",
			Prepare: func(c *rt.Call) (func() error, error) {
				return func() error { return nil }, prepare(c)
			}})}
	if o != nil {
		options.Optimize = With(*o)
	}
	_, err := p.LoadMethod("one", options)
	return err
}

// What kernels of custom operators know of their call is the same as in rt: which slots never
// change, and what the limit of memory leaves.
func TestCustomCall(t *testing.T) {
	p, err := rt.NewProgram(scaled(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Options{nil, {Strict: true, Custom: []string{scale}}} {
		err := loadScaled(p, func(c *rt.Call) error {
			for i, want := range []bool{false, true, false} {
				if got := c.Fixed(c.Args[i]); got != want {
					t.Errorf("optimised %v: argument %d is fixed: %v", o != nil, i, got)
				}
			}
			if n := len(c.Args[1].Tensor.Data); n != 256 {
				t.Errorf("optimised %v: %d bytes of the constant", o != nil, n)
			}
			return c.Reserve(1 << 19)
		}, o)
		if err != nil {
			t.Errorf("optimised %v: %v", o != nil, err)
		}
		err = loadScaled(p, func(c *rt.Call) error { return c.Reserve(1 << 21) }, o)
		if !errors.Is(err, rt.ErrOutOfMemory) {
			t.Errorf("optimised %v: more than the limit: %v", o != nil, err)
		}
	}
}

// Code is that of the schemas: without them the method is refused, whatever was loaded before.
func TestCustomSchemas(t *testing.T) {
	p, err := rt.NewProgram(scaled(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(*rt.Call) error { return nil }
	if err := loadScaled(p, prepare, &Options{Strict: true, Custom: []string{scale}}); err != nil {
		t.Fatal(err)
	}
	if err := loadScaled(p, prepare, &Options{Strict: true}); !errors.Is(err, ErrRefused) {
		t.Errorf("without a schema: %v", err)
	}
}
