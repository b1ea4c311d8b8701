package raise_test

import (
	"testing"

	"github.com/etgen/etgen/ir/pte"
)

// A size that is read from a tensor is bounded by the room of what takes it.
func TestRoomBoundsSizes(t *testing.T) {
	a := newAsm()
	n := a.value(tensorAt(4, 0))
	number, room := a.value(pte.Int(0)), tensorAt(4, 16, 5)
	room.Dynamism = pte.DynamicBound
	out := a.value(room)
	a.call("aten::_local_scalar_dense", "", n, number)
	a.call("aten::arange", "out", number, out, out)
	a.io([]int32{n}, []int32{out})
	p, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	sizes := p.Methods[0].Graph.Nodes[1].Outputs[0].Type.Sizes
	if _, most := sizes[0].Bounds(); len(p.Methods[0].Symbols) != 1 || most != 5 {
		t.Errorf("at most %d elements\n%s", most, p)
	}
}
