package pte

// The operators that the writer knows by name: what the dialect leaves to it,
// and what it makes loops, branches and views of. All others are the model's,
// and their schemas tell what to write. This is the one file of the package
// that names operators.
const (
	opAlloc    = "memory.alloc"
	opViewCopy = "aten.view_copy.default"
	opCond     = "higher_order.cond"
	opWhile    = "higher_order.while_loop"
	opScan     = "higher_order.scan"

	opCopyIn   = "aten.copy_.default" // between tensors of fixed sizes
	opCopyOut  = "aten.copy.out"      // gives its result the operand's sizes
	opView     = "executorch_prim.et_view.default"
	opElement  = "aten.select_copy.int_out"
	opSetIndex = "executorch_prim.et_copy_index.tensor"
	opEmpty    = "aten.empty.out"
	opFlip     = "aten.flip.out"
	opSizeOf   = "aten.sym_size.int"
	opNumberOf = "aten._local_scalar_dense.default"
	opAdd      = "executorch_prim.add.Scalar"
	opSub      = "executorch_prim.sub.Scalar"
	opEqual    = "executorch_prim.eq.Scalar"
	opLess     = "executorch_prim.lt.Scalar"
	opAtLeast  = "executorch_prim.ge.Scalar"
	primFamily = "executorch_prim"
	noOverload = "default"
)
