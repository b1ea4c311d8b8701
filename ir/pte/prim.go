package pte

import (
	"sync"

	"github.com/etgen/etgen/ir/aten"
)

// primText are the schemas of the operators that belong to the runtime itself
// and not to a library of kernels.
var primText = []string{
	"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
	"aten::sym_size.int(Tensor self, int dim) -> SymInt",
	"aten::sym_numel(Tensor self) -> SymInt",
	"aten::_local_scalar_dense(Tensor self) -> Scalar",
	"executorch_prim::et_view.default(Tensor self, SymInt[] size, *, Tensor(a!) out) -> ()",
	"executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, SymInt index) -> ()",
	"executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::sub.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::mul.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::floordiv.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::floordiv.int(int a, int b) -> int",
	"executorch_prim::truediv.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::mod.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::mod.int(int a, int b) -> int",
	"executorch_prim::sym_max.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::sym_min.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::sym_float.Scalar(Scalar a) -> Scalar",
	"executorch_prim::sym_int.Scalar(Scalar a) -> Scalar",
	"executorch_prim::sym_not.Scalar(Scalar a) -> Scalar",
	"executorch_prim::sym_ite.Scalar(Scalar pred, Scalar a, Scalar b) -> Scalar",
	"executorch_prim::neg.Scalar(Scalar a) -> Scalar",
	"executorch_prim::ceil.Scalar(Scalar a) -> Scalar",
	"executorch_prim::round.Scalar(Scalar a) -> Scalar",
	"executorch_prim::trunc.Scalar(Scalar a) -> Scalar",
	"executorch_prim::eq.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::gt.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::lt.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::ge.Scalar(Scalar a, Scalar b) -> Scalar",
	"executorch_prim::le.Scalar(Scalar a, Scalar b) -> Scalar",
}

// The two of them that memory is looked at for.
const (
	copyInto = "aten.copy_.default"
	viewInto = "executorch_prim.et_view.default"
)

// primSchemas returns them by name. That each line parses is tested.
var primSchemas = sync.OnceValue(func() map[string]*aten.Schema {
	schemas := map[string]*aten.Schema{}
	for _, line := range primText {
		if s, err := aten.Parse(line); err == nil {
			schemas[s.Name] = s
		}
	}
	return schemas
})

// RuntimeOperator reports whether an operator is the runtime's own, so that
// programs that call it need no kernel. (For aten::copy_ the runtime only knows
// what it writes.)
func RuntimeOperator(o Operator) bool {
	name := o.NodeName()
	return name != copyInto && primSchemas()[name] != nil
}

// SizeOperator is the runtime's operator that gives a size of a tensor: tensor,
// dimension, result.
func SizeOperator() Operator { return Operator{Name: "aten::sym_size", Overload: "int"} }

// ItemOperator is the runtime's operator that gives the element of a tensor of
// one: tensor, result.
func ItemOperator() Operator { return Operator{Name: "aten::_local_scalar_dense"} }

// schema returns the schema of an operator, nil if nobody knows it.
func (v *verifier) schema(o Operator) *aten.Schema {
	name := o.NodeName()
	if s, ok := primSchemas()[name]; ok {
		return s
	}
	if v.schemas != nil {
		if s, ok := v.schemas.Schema(name); ok {
			return s
		}
	}
	return nil
}
