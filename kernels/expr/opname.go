package expr

import "fmt"

var opNames = [...]string{
	OpInvalid: "invalid", OpConst: "const", OpIndex: "index", OpLoad: "load", OpLocal: "local",
	OpScalar: "scalar",
	OpAdd:    "add", OpSub: "sub", OpMul: "mul", OpDiv: "div", OpRem: "rem", OpNeg: "neg",
	OpAbs: "abs",
	OpMin: "min", OpMax: "max", OpFMA: "fma", OpSqrt: "sqrt", OpFloor: "floor", OpCeil: "ceil",
	OpTrunc: "trunc", OpRound: "round",
	OpAnd: "and", OpOr: "or", OpXor: "xor", OpNot: "not", OpShl: "shl", OpShr: "shr",
	OpBitcast: "bitcast",
	OpEq:      "eq", OpNe: "ne", OpLt: "lt", OpLe: "le", OpGt: "gt", OpGe: "ge",
	OpSelect: "select", OpCast: "cast", OpCall: "call", OpReduce: "reduce",
}

// String returns the operation's name in dumps.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// String returns the reduction's name in dumps.
func (k ReduceKind) String() string {
	names := [...]string{"sum", "prod", "max", "min", "argmax", "argmin", "argmax_last_nan"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("reduce(%d)", uint8(k))
}
