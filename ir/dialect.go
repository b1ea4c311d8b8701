package ir

// Dialect says what a program may hold. The words are ExecuTorch's, as far as it has
// them; lower has the rules of each and the pipelines that lead there.
type Dialect string

const (
	// ATen is what torch.export writes: any operator, in-place ones, views.
	ATen Dialect = "aten"
	// Functional is ATen in which no node writes to an operand.
	Functional Dialect = "functional"
	// CoreATen is functional and has the operators of Core ATen.
	CoreATen Dialect = "core"
	// Edge is Core ATen without dead nodes.
	Edge Dialect = "edge"
	// Backend is what native form is made of: functional, of operators that have
	// kernels, every tensor dense and row-major.
	Backend Dialect = "backend"
	// ExecuTorch is what instructions of a .pte are made of: out variants that the
	// stock runtime has kernels for.
	ExecuTorch Dialect = "executorch"
)
