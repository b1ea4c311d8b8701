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
	"aten.linalg_eigh.default":     matrixSamples("self"),
	"aten.linalg_eigvalsh.default": matrixSamples("self"),
}
