package irtest

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/ir"
)

// The pass turns neg into abs and does not know cos.
func TestRunTxtar(t *testing.T) {
	RunTxtar(t, "testdata/*.txtar", func(p *ir.Program) error {
		for _, m := range p.Methods {
			rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
				switch n.Op {
				case "aten.neg.default":
					return e.Emit("aten.abs.default", n.Args, n.Outputs[0].Type).Outputs, false, nil
				case "aten.cos.default":
					return nil, false, errors.New("no such thing")
				}
				return nil, true, nil
			}}
			if err := rw.Run(m); err != nil {
				return err
			}
		}
		return nil
	})
}
