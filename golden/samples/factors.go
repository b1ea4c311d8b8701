package samples

import "github.com/etgen/etgen/ir"

// factorSamples are those of factors of matrices and of triangular systems.
var factorSamples = byName{
	"aten.linalg_cholesky_ex.default": func(r *Rand) []Sample {
		n := r.Dim()
		return []Sample{NewSample("self", wide(ir.Float32, n, n)),
			NewSample("self", wide(ir.Float64, 2, 3, 3), "upper", true)}
	},
	"aten.linalg_cholesky.default": func(*Rand) []Sample { // others would be refused
		return []Sample{NewSample("self", Tensor(ir.Float32, Values{Lo: 1, Hi: 2}, 2, 1, 1))}
	},
	"aten.cholesky_solve.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(3, 2), "input2", far(3, 3)),
			NewSample("self", f32(2, 3, 2), "input2", far(2, 3, 3), "upper", true)}
	},
	"aten.cholesky_inverse.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", far(2, 3, 3)), NewSample("self", far(3, 3), "upper", true)}
	},
	"aten.linalg_solve_triangular.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", far(3, 3), "B", f32(2, 3, 2), "upper", true),
			NewSample("self", far(2, 1, 3, 3), "B", f32(2, 3, 2), "upper", false),
			NewSample("self", far(3, 3), "B", f32(2, 3), "upper", false, "left", false),
			NewSample("self", far(3, 3), "B", f32(2, 3), "upper", true, "left", false,
				"unitriangular", true)}
	},
	"aten.triangular_solve.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(2, 3, 2), "A", far(3, 3), "transpose", true)}
	},
	"aten.geqrf.default": func(r *Rand) []Sample {
		n := r.Dim()
		return []Sample{NewSample("self", wide(ir.Float32, n, 3)),
			NewSample("self", wide(ir.Float64, 2, 3, 4)),
			NewSample("self", Tensor(ir.Float32, Values{Lo: 0, Hi: 0.01}, 3, 2))}
	},
	"aten.ormqr.default": func(*Rand) []Sample {
		args := func(rows, cols int64, more ...any) Sample {
			return NewSample(append([]any{"self", f32(2, 4, 3), "input2", f32(2, 3), "input3",
				f32(2, rows, cols)}, more...)...)
		}
		return []Sample{args(4, 2), args(4, 5, "transpose", true), args(2, 4, "left", false),
			args(3, 4, "left", false, "transpose", true)}
	},
	"aten.linalg_householder_product.default": func(*Rand) []Sample {
		return []Sample{NewSample("input", f32(2, 4, 3), "tau", f32(2, 2))}
	},
	"aten.orgqr.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(4, 3), "input2", f32(3))}
	},
	"aten.linalg_qr.default": func(*Rand) []Sample {
		return []Sample{NewSample("A", wide(ir.Float32, 4, 3)),
			NewSample("A", wide(ir.Float64, 2, 4, 3), "mode", "complete"),
			NewSample("A", wide(ir.Float32, 2, 3), "mode", "r")}
	},
	"aten.lu_unpack.default": func(*Rand) []Sample {
		pivots := Tensor(ir.Int32, Values{Lo: 1, Hi: 3}, 2, 3)
		return []Sample{NewSample("LU_data", f32(2, 4, 3), "LU_pivots", pivots),
			NewSample("LU_data", f32(2, 3, 4), "LU_pivots", pivots)}
	},
	"aten._lu_with_info.default": matrixSamples("self"),
	"aten.linalg_lu.default":     matrixSamples("A"),
	"aten.lu_solve.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(3, 2), "LU_data", far(3, 3), "LU_pivots",
			Tensor(ir.Int32, Values{Lo: 1, Hi: 3}, 3))}
	},
	"aten.logdet.default": matrixSamples("self"),
	"aten.linalg_tensorinv.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 2, 4))}
	},
	"aten.linalg_tensorsolve.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 2, 4), "other", f32(2, 2)),
			NewSample("self", wide(ir.Float32, 2, 4, 2), "other", f32(2, 2), "dims", []int64{1})}
	},
}

// wide are values far apart, far values far from 0: a triangle of them is no singular matrix.
func wide(d ir.DType, shape ...int64) Input {
	return Tensor(d, Values{Lo: -3, Hi: 4, Distinct: true}, shape...)
}

func far(shape ...int64) Input { return Tensor(ir.Float32, Values{Lo: 1, Hi: 2}, shape...) }
