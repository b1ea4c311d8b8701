package rt_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

// Programs with a few bytes changed, many of them to small numbers as indices
// and sizes are, load and execute or are refused. The fuzz target looks further;
// this looks at the same every time.
func TestMutated(t *testing.T) {
	rounds := tier.Of(300, 3000, 30000)
	all := seeds()
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		seed := all[name].bytes(t)
		for round := range rounds {
			data := slices.Clone(seed)
			for range 1 + r.IntN(4) {
				i := r.IntN(len(data))
				switch r.IntN(3) {
				case 0:
					data[i] = byte(r.IntN(256))
				case 1:
					data[i] = byte(r.IntN(24))
				default:
					data[i] ^= 1 << r.IntN(8)
				}
			}
			began := time.Now()
			if err := run(t, data); err != nil {
				t.Errorf("%s, round %d: %v", name, round, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s, round %d takes %v", name, round, took)
			}
		}
	}
}

// Programs that are files without fault, but whose indices, sizes, places and
// types are others.
func TestMutatedPlans(t *testing.T) {
	rounds := tier.Of(200, 2000, 20000)
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range slices.Sorted(maps.Keys(seeds())) {
		for round := range rounds {
			b := seeds()[name]
			for range 1 + r.IntN(3) {
				mutate(r, b.plan)
			}
			if err := run(t, b.bytes(t)); err != nil {
				t.Errorf("%s, round %d: %v", name, round, err)
			}
		}
	}
}

// mutate changes one thing of a plan.
func mutate(r *rand.Rand, plan *pte.ExecutionPlan) {
	value := func() int32 { return int32(r.IntN(len(plan.Values)+2)) - 1 }
	index := func(list []int32) {
		if len(list) > 0 {
			list[r.IntN(len(list))] = value()
		}
	}
	chain := plan.Chains[r.IntN(len(plan.Chains))]
	at := r.IntN(len(chain.Instructions))
	switch r.IntN(8) {
	case 0:
		index(plan.Inputs)
	case 1:
		index(plan.Outputs)
	case 2:
		chain.Instructions = slices.Delete(chain.Instructions, at, at+1)
		if len(chain.Instructions) == 0 {
			chain.Instructions = []pte.Instruction{pte.FreeCall{Value: value()}}
		}
	case 3:
		more := []pte.Instruction{
			pte.MoveCall{From: value(), To: value()}, pte.FreeCall{Value: value()},
			pte.JumpFalseCall{Cond: value(),
				Destination: int32(r.IntN(len(chain.Instructions) + 2))},
			pte.KernelCall{Op: int32(r.IntN(len(plan.Operators) + 1)), Args: []int32{value(),
				value(), value(), value()}[r.IntN(5):]},
		}
		chain.Instructions = slices.Insert(chain.Instructions, at, more[r.IntN(len(more))])
	case 4, 5:
		if call, ok := chain.Instructions[at].(pte.KernelCall); ok {
			index(call.Args)
		}
	default:
		mutateValue(r, plan, r.IntN(len(plan.Values)))
	}
}

func mutateValue(r *rand.Rand, plan *pte.ExecutionPlan, i int) {
	small := int64(r.IntN(12) - 2)
	switch v := plan.Values[i].(type) {
	case pte.Int:
		plan.Values[i] = pte.Int(small)
	case pte.IntList:
		v[r.IntN(len(v))] = small
	case pte.TensorList:
		v[r.IntN(len(v))] = int32(small)
	case *pte.Tensor:
		switch r.IntN(7) {
		case 0:
			v.Dynamism = pte.Dynamism(r.IntN(3))
		case 1:
			v.Allocation = nil
		case 2:
			v.Allocation = &pte.Allocation{MemoryID: uint32(r.IntN(3)), Offset: uint64(r.IntN(40))}
		case 3:
			v.DataIndex = uint32(r.IntN(3))
		case 4:
			v.ScalarType = pte.ScalarType(r.IntN(30))
		case 5:
			v.DimOrder = append(v.DimOrder, 0)
			v.Sizes = append(v.Sizes, 1)
		default:
			if len(v.Sizes) > 0 {
				v.Sizes[r.IntN(len(v.Sizes))] = int32(small)
			}
		}
	default:
		plan.Values[i] = []pte.EValue{pte.Null{}, pte.Int(small), pte.Bool(true), pte.Double(1),
			pte.IntList{small}, pte.BoolList{true}}[r.IntN(6)]
	}
}
