package samples

import "github.com/etgen/etgen/ir"

// eigenSamples are those of powers, eigenvalues and singular values of matrices.
var eigenSamples = byName{
	"aten.linalg_matrix_power.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(2, 3, 3), "n", 5),
			NewSample("self", wide(ir.Float32, 2, 2), "n", -2), NewSample("self", f32(2, 2), "n", 0)}
	},
	"aten._linalg_eigh.default": func(r *Rand) []Sample {
		n := r.Dim()
		return []Sample{NewSample("A", wide(ir.Float32, n, n)),
			NewSample("A", wide(ir.Float64, 2, 3, 3), "UPLO", "U"),
			NewSample("A", wide(ir.Float32, 3, 3), "compute_v", false)}
	},
	"aten.linalg_eigh.default":         matrixSamples("self"),
	"aten.linalg_matrix_sqrth.default": oneSample("self", wide(ir.Float32, 2, 2)),
	"aten.linalg_polar.default":        oneSample("A", wide(ir.Float32, 3, 2)),
	"aten.linalg_eigvalsh.default":     matrixSamples("self"),
	"etgen.jacobi_svd.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 3, 2)),
			NewSample("self", wide(ir.Float64, 2, 2, 3))}
	},
	"aten._linalg_svd.default": func(*Rand) []Sample {
		return []Sample{NewSample("A", wide(ir.Float32, 3, 2)),
			NewSample("A", wide(ir.Float64, 2, 2, 3), "compute_uv", false)}
	},
	"aten.linalg_svd.default": func(*Rand) []Sample {
		return []Sample{NewSample("A", wide(ir.Float32, 4, 2))}
	},
	"aten.svd.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 3, 2))}
	},
	"aten.linalg_svdvals.default": matrixSamples("A"),
	"aten.pinverse.default":       matrixSamples("self"),
	"aten.linalg_pinv.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 3, 2), "rcond", 1e-6),
			NewSample("self", wide(ir.Float32, 3, 3), "rcond", 1e-6, "hermitian", true)}
	},
	"aten.linalg_pinv.atol_rtol_float": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 3)),
			NewSample("self", wide(ir.Float32, 3, 3), "atol", 0.01, "hermitian", true)}
	},
	"aten.linalg_matrix_rank.default": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 3), "tol", 0.01)}
	},
	"aten.linalg_matrix_rank.atol_rtol_float": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 3)),
			NewSample("self", wide(ir.Float32, 3, 3), "rtol", 0.01, "hermitian", true)}
	},
	"aten.nuclear_norm.default": matrixSamples("self"),
	"aten.nuclear_norm.dim": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 3, 2), "dim", []int64{2, 0}, "keepdim",
			true)}
	},
	"aten.linalg_pinv.atol_rtol_tensor": func(*Rand) []Sample {
		return []Sample{NewSample("self", wide(ir.Float32, 2, 3)),
			NewSample("self", wide(ir.Float32, 2, 3, 2), "atol", f32(2))}
	},
	"aten.linalg_pinv.rcond_tensor": oneSample("self", wide(ir.Float32, 2, 3, 2), "rcond", far(2)),
	"aten.linalg_matrix_rank.tol_tensor": oneSample("input", wide(ir.Float32, 2, 3, 2), "tol",
		far(2)),
	"aten.linalg_cond.default": several(NewSample("self", wide(ir.Float32, 3, 2)),
		NewSample("self", wide(ir.Float64, 2, 3, 3), "p", 1),
		NewSample("self", wide(ir.Float32, 3, 3), "p", -2)),
	"aten.linalg_cond.p_str":         oneSample("self", wide(ir.Float32, 3, 3), "p", "fro"),
	"aten.linalg_matrix_exp.default": matrixSamples("self"),
	"aten.matrix_exp.default":        matrixSamples("self"),
	"aten.linalg_matrix_rank.atol_rtol_tensor": func(*Rand) []Sample {
		return []Sample{NewSample("input", wide(ir.Float32, 2, 3)),
			NewSample("input", wide(ir.Float32, 2, 3, 2), "rtol", f32(2))}
	},
}
