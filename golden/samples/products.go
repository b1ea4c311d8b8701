package samples

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// productSamples are those of matrix products, linear algebra and attention.
var productSamples = byName{
	"aten._int_mm.default":         int8Matrices,
	"etgen.integer_matmul.default": integerMatmulSamples,
	"etgen.integer_linear.default": integerLinearSamples,
	"etgen.chosen_mm.default": func(r *Rand) []Sample {
		return []Sample{NewSample("self", f32(5, 3), "mat2", f32(4, 3, r.Dim()), "index",
			indices(4, 5))}
	},
	"aten._grouped_mm.default":                 groupedSamples("self", "mat2"),
	"transformers.grouped_mm_fallback.default": groupedSamples("input", "weight"),
	"etgen.unpack_int4.default": func(r *Rand) []Sample {
		return []Sample{NewSample("packed", Tensor(ir.Uint8, Values{}, 3)),
			NewSample("packed", Tensor(ir.Uint8, Values{}, 2, r.Dim()))}
	},
	"etgen.integer_mul.default": pairwise([]ir.DType{ir.Int8, ir.Uint8, ir.Int16}, "self_zero_point",
		3, "other_zero_point", 120, "dtype", ir.Float32),
	"etgen.integer_windows.default": func(r *Rand) []Sample {
		starts := func(n int64) Input { return Tensor(ir.Int32, Values{Lo: -1, Hi: 8}, n) }
		weights := func(n, k int64) Input { return Tensor(ir.Int16, Values{Lo: -30, Hi: 90}, n, k) }
		h, w := r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", Tensor(ir.Int8, Values{}, 2, 3, 5, 7), "starts", []Input{starts(h), starts(w)},
				"weights", []Input{weights(h, 3), weights(w, 2)}, "self_zero_point", -5, "dtype", ir.Int32),
			NewSample("self", Tensor(ir.Int16, Values{}, 4, 6), "starts", []Input{starts(h)}, "weights",
				[]Input{weights(h, 6)}, "self_zero_point", 0, "dtype", ir.Float32),
		}
	},
	"etgen.integer_norm.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16} {
			args := []any{"input", Tensor(d, Values{}, 2, 3, 7), "normalized_shape", []int64{3, 7}[i%2:],
				"weight", f32([][]int64{{3, 1}, {7}, {3, 7}}[i]...), "input_zero_point", 5 * (i % 2), "mean",
				i%2 == 0,
				"added", 0.5}
			if i > 0 {
				args = append(args, "bias", f32())
			}
			out = append(out, NewSample(args...))
		}
		return out
	},
	"aten.scaled_dot_product_attention.default":                attentionSamples,
	"aten._scaled_dot_product_flash_attention_for_cpu.default": flashSamples,
	"etgen.attention.default":                                  ownAttentionSamples,
	"aten.einsum.default": func(r *Rand) []Sample {
		i, j, k, l := 1+r.Dim(), 1+r.Dim(), 1+r.Dim(), 1+r.Dim()
		of := func(eq string, xs ...Input) Sample {
			return NewSample("equation", eq, "tensors", xs)
		}
		return []Sample{
			of("ij,jk->ik", f32(i, j), f32(j, k)),
			of("bhid, bhjd -> bhij", f32(2, 3, i, l), f32(2, 3, j, l)),
			of("ij->ji", f32(i, j)),
			of("ijk->k", f32(i, j, k)),
			of("ii->i", f32(i, i)),
			of("ii", f32(i, i)),
			of("i,j", f32(i), f32(j)),
			of("ij,ij", f32(i, j), f32(i, j)),
			of("...ij,...jk->...ik", f32(3, i, j), f32(2, 1, j, k)),
			of("bn,anm,bm->ba", f32(2, j), f32(k, j, l), f32(2, l)),
			of("ijk,kl->lji", f32(i, j, k), f32(k, l)),
			of("ij,k->ki", f32(i, j), f32(k)),
		}
	},
	"aten.matmul.default": matmulSamples,
	"aten.addbmm.default": multiplied("batch1", "batch2", 3, 3, "self row"),
	"aten.linear.default": func(r *Rand) []Sample {
		var out []Sample
		for rank := 1; rank <= 4; rank++ {
			shape := r.Shape(rank)
			k, m := shape[rank-1], r.Dim()
			args := []any{"input", f32(shape...), "weight", f32(m, k)}
			if rank != 2 {
				args = append(args, "bias", f32(m))
			}
			out = append(out, NewSample(args...))
		}
		for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float64} {
			out = append(out, NewSample("input", Tensor(d, Values{}, 2, 7), "weight",
				Tensor(d, Values{}, 3, 7), "bias", Tensor(d, Values{}, 3)))
		}
		return append(out, NewSample("input", f32(3, 4), "weight", f32(4)))
	},
	"aten.mm.default":      multiplied("self", "mat2", 2, 2, ""),
	"aten.bmm.default":     multiplied("self", "mat2", 3, 3, ""),
	"aten.mv.default":      multiplied("self", "vec", 2, 1, ""),
	"aten.dot.default":     multiplied("self", "tensor", 1, 1, ""),
	"aten.vdot.default":    multiplied("self", "other", 1, 1, ""),
	"aten.addmm.default":   multiplied("mat1", "mat2", 2, 2, "self"),
	"aten.addmv.default":   multiplied("mat", "vec", 2, 1, "self"),
	"aten.baddbmm.default": multiplied("batch1", "batch2", 3, 3, "self"),
	"aten.outer.default":   outerSamples,
	"aten.ger.default":     outerSamples,
	"aten.inner.default": func(r *Rand) []Sample {
		k := r.Dim()
		return []Sample{
			NewSample("self", f32(k), "other", f32(k)),
			NewSample("self", f32(2, 3, k), "other", f32(r.Dim(), k)),
		}
	},
	"aten._weight_norm.default": times(2, func(r *Rand) Sample {
		shape := r.Shape(3)
		return NewSample("v", f32(shape...), "g", f32(shape[0], 1, 1))
	}),
	"aten.addr.default": func(r *Rand) []Sample {
		m, n := r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(m, n), "vec1", f32(m), "vec2", f32(n), "beta", 0.5,
				"alpha", 2),
			NewSample("self", f32(n), "vec1", f32(m), "vec2", f32(n), "beta", 0),
		}
	},
	"aten.linalg_cross.default": func(r *Rand) []Sample {
		return []Sample{NewSample("self", f32(4, 3), "other", f32(4, 3)),
			NewSample("self", f32(3, 1), "other", f32(3, 2), "dim", 0)}
	},
	"aten.bilinear.default": func(r *Rand) []Sample {
		a, k, m := r.Dim(), r.Dim(), r.Dim()
		return []Sample{
			NewSample("input1", f32(2, a, k), "input2", f32(2, a, m), "weight", f32(3, k, m),
				"bias", f32(3)),
			NewSample("input1", f32(a, k), "input2", f32(a, m), "weight", f32(2, k, m)),
		}
	},
	"aten.cross.default": crossSamples,
	"aten._cdist_forward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, p := range []float64{0, 1, 2, 1.5, inf} {
			d := []ir.DType{ir.Float32, ir.Float64, ir.Float32}[i%3]
			a, b := []int64{r.Dim(), r.Dim(), 4}, []int64{r.Dim(), 4}
			if i%2 == 1 {
				b = []int64{1, b[0], 4}
			}
			out = append(out, NewSample("x1", Tensor(d, Values{}, a...), "x2",
				Tensor(d, Values{}, b...), "p", p, "compute_mode", nil))
		}
		return out
	},
	"aten._pdist_forward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, p := range []float64{0, 1, 2, 1.5, inf} {
			d := []ir.DType{ir.Float32, ir.Float64, ir.Float32}[i%3]
			out = append(out, NewSample("self", Tensor(d, Values{}, 1+r.Dim(), r.Dim()), "p",
				p))
		}
		return out
	},
	"aten.linalg_lu_factor.default": matrixSamples("A"),
	"aten.linalg_inv_ex.default":    matrixSamples("A"),
	"aten.linalg_inv.default":       matrixSamples("A"),
	"aten._linalg_det.default":      matrixSamples("A"),
	"aten.linalg_det.default":       matrixSamples("A"),
	"aten._linalg_slogdet.default":  matrixSamples("A"),
	"aten.linalg_slogdet.default":   matrixSamples("A"),
	"aten.inverse.default":          matrixSamples("self"),
	"aten.det.default":              matrixSamples("self"),
	"aten.slogdet.default":          matrixSamples("self"),
	"aten._linalg_solve_ex.default": systemSamples,
	"aten.linalg_solve_ex.default":  systemSamples,
	"aten.linalg_solve.default":     systemSamples,
	"aten._linalg_check_errors.default": func(*Rand) []Sample {
		return []Sample{NewSample("info", Tensor(ir.Int32, Values{}, 0), "api_name",
			"linalg.inv", "is_matrix", false)}
	},
	"aten.linalg_lu_factor_ex.default": func(r *Rand) []Sample {
		n := r.Dim()
		return []Sample{
			NewSample("A", f32(n, n)), NewSample("A", f32(2, 3, 4, 4)),
			NewSample("A", f32(2, n, 3)),
			NewSample("A", Tensor(ir.Float64, Values{}, 3, 3)),
			NewSample("A", Tensor(ir.Float32, Values{Lo: 0, Hi: 0.01, Distinct: true}, 1, 5,
				5)),
		}
	},
	"aten.linalg_lu_solve.default": func(r *Rand) []Sample {
		n := r.Dim()
		factors := func(d ir.DType, shape ...int64) Input {
			return Tensor(d, Values{Lo: 1, Hi: 2}, shape...)
		}
		pivots := func(shape ...int64) Input {
			return Tensor(ir.Int32, Values{Lo: 1, Hi: float64(shape[len(shape)-1])}, shape...)
		}
		return []Sample{
			NewSample("LU", factors(ir.Float32, n, n), "pivots", pivots(n), "B",
				f32(n, r.Dim())),
			NewSample("LU", factors(ir.Float64, 2, 3, 3), "pivots", pivots(2, 3), "B",
				Tensor(ir.Float64, Values{}, 2, 3, 2), "adjoint", true),
			NewSample("LU", factors(ir.Float32, 2, 3, 3), "pivots", pivots(2, 3), "B",
				f32(2, 4, 3), "left", false),
		}
	},
	"aten._trilinear.default": func(r *Rand) []Sample {
		n, o, a, d := r.Dim(), r.Dim(), r.Dim(), r.Dim()
		return []Sample{NewSample("i1", f32(n, a), "i2", f32(o, a, d), "i3", f32(n, d),
			"expand1", []int64{1, 3}, "expand2", []int64{0}, "expand3", []int64{1, 2}, "sumdim",
			[]int64{2, 3})}
	},
}

func attentionSamples(r *Rand) []Sample {
	b, h, l, s, e := r.Dim(), r.Dim(), r.Dim(), r.Dim(), r.Dim()
	qkv := func(d ir.DType, more ...any) Sample {
		return NewSample(append([]any{"query", Tensor(d, Values{}, b, h, l, e), "key",
			Tensor(d, Values{}, b, h, s, e), "value", Tensor(d, Values{}, b, h, s, 3)}, more...)...)
	}
	return []Sample{
		qkv(ir.Float32),
		qkv(ir.Float32, "is_causal", true, "scale", 0.5),
		qkv(ir.Float32, "attn_mask", Tensor(ir.Bool, Values{}, l, s)),
		qkv(ir.Float32, "attn_mask", f32(b, 1, l, s)),
		qkv(ir.BFloat16),
		NewSample("query", f32(b, 4, l, e), "key", f32(b, 2, s, e), "value", f32(b, 2, s, e),
			"enable_gqa", true),
		NewSample("query", f32(l, e), "key", f32(s, e), "value", f32(s, e)),
	}
}

// flashSamples are those that the fused kernel takes.
func flashSamples(r *Rand) []Sample {
	all := attentionSamples(r)
	return append(all[:3:3], all[4])
}

func ownAttentionSamples(r *Rand) []Sample {
	b, l, s, e := r.Dim(), r.Dim(), r.Dim(), r.Dim()
	of := func(mask any, none float64, rests bool) Sample {
		return NewSample("query", f32(b, 4, l, e), "key", f32(b, 2, s, e), "value", f32(b, 2, s, 3),
			"attn_mask", mask, "scale", 0.5, "none", none, "rests", rests)
	}
	return []Sample{
		of(nil, 0, false),
		of(f32(b, 1, l, s), 0, true),
		of(Tensor(ir.Bool, Values{}, l, s), -1e30, false),
		of(Tensor(ir.Bool, Values{}, b, 1, l, s), math.Inf(-1), true),
	}
}

func matmulSamples(r *Rand) []Sample {
	var out []Sample
	k := r.Dim()
	b1, b2 := r.Dim(), r.Dim()
	left := [][]int64{{k}, {r.Dim(), k}, {b2, r.Dim(), k}, {b1, 1, r.Dim(), k}}
	right := [][]int64{{k}, {k, r.Dim()}, {b2, k, r.Dim()}, {b1, b2, k, r.Dim()}}
	for _, x := range left {
		for _, y := range right {
			out = append(out, NewSample("self", f32(x...), "other", f32(y...)))
		}
	}
	return out
}

// multiplied vary the operands of a product of given ranks; add names what
// is added, "… row" if that may be no more than a matrix.
func multiplied(a, b string, ra, rb int, add string) func(r *Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Float16, ir.BFloat16,
			ir.Int64, ir.Int32, ir.Uint8} {
			batch, m, k, n := r.Dim(), r.Dim(), r.Dim(), r.Dim()
			x := [][]int64{nil, {k}, {m, k}, {batch, m, k}}[ra]
			y := [][]int64{nil, {k}, {k, n}, {batch, k, n}}[rb]
			args := []any{a, Tensor(d, Values{}, x...), b, Tensor(d, Values{}, y...)}
			if add != "" {
				z := []int64{batch, m, n}[3-ra:]
				if rb == 1 {
					z = []int64{m}
				}
				name := add
				if add == "self row" {
					name, z = "self", []int64{m, n}
				}
				if i%2 == 1 {
					z = z[len(z)-1:]
				}
				args = append(args, name, Tensor(d, Values{}, z...))
				if i > 0 {
					args = append(args, "alpha", i, "beta", i-1)
				}
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

var outerSamples = times(2, func(r *Rand) Sample {
	return NewSample("self", f32(r.Dim()), "vec2", f32(r.Dim()))
})

func crossSamples(r *Rand) []Sample {
	return []Sample{NewSample("self", f32(4, 3), "other", f32(4, 3)),
		NewSample("self", f32(2, 3, 3), "other", f32(2, 3, 3), "dim", 2)}
}

func int8Matrices(*Rand) []Sample {
	return []Sample{NewSample("self", Tensor(ir.Int8, Values{}, 17, 8), "mat2",
		Tensor(ir.Int8, Values{}, 8, 8))}
}

func matrixSamples(name string) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		// Far from singular: the diagonal of pivots is what differs most.
		return []Sample{
			NewSample(name, Tensor(ir.Float32, Values{Lo: -2, Hi: 3, Distinct: true}, 3, 3)),
			NewSample(name, Tensor(ir.Float64, Values{Lo: -3, Hi: 4, Distinct: true}, 2, 4, 4)),
		}
	}
}

func systemSamples(r *Rand) []Sample {
	a := func(shape ...int64) Input {
		return Tensor(ir.Float32, Values{Lo: -3, Hi: 4, Distinct: true}, shape...)
	}
	return []Sample{
		NewSample("A", a(4, 4), "B", f32(4, 3)), NewSample("A", a(2, 3, 3), "B", f32(2, 3)),
		NewSample("A", a(3, 3), "B", f32(2, 3, 2)), NewSample("A", a(3, 3), "B", f32(2, 3),
			"left", false),
	}
}

// integerLinearSamples are of one to three tensors that broadcast.
func integerLinearSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16} {
		xs := []Input{Tensor(d, Values{}, 3, 5), Tensor(ir.Int8, Values{}, 5),
			Tensor(ir.Uint8, Values{}, 2, 1, 5)}
		to := []ir.DType{ir.Int16, ir.Int8, ir.Int8}[i]
		args := []any{"tensors", xs[:i+1], "factors", []int64{3000, -2111, 1777}[:i+1], "added", -4096,
			"shift", 12, "quant_min", -100, "quant_max", 126, "dtype", to}
		if i > 0 {
			args = append(args, "other", Tensor(to, Values{}, [][]int64{{3, 5}, {2, 3, 5}}[i-1]...), "near",
				900)
		}
		out = append(out, NewSample(args...))
	}
	return out
}

// integerMatmulSamples multiply rows with one matrix or with one each, either way around.
func integerMatmulSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Int8, ir.Int8, ir.Uint8, ir.Int16, ir.Float32} {
		x, w := []int64{3, 4 + r.Dim()}, []int64{5, 0}
		if w[1] = x[1]; i == 1 {
			x = append([]int64{2}, x...)
		}
		bias, dtype := any(Tensor(ir.Int32, Values{Lo: -90, Hi: 90}, 5)), ir.Float32
		if i%2 == 1 {
			w[0], w[1] = w[1], w[0]
			bias, dtype = nil, ir.Int32
		}
		if i == 2 {
			x, w = append([]int64{2}, x...), append([]int64{2}, w...)
		}
		out = append(out, NewSample("self", Tensor(d, Values{}, x...), "mat2",
			Tensor(ir.Int8, Values{}, w...), "bias", bias, "transposed", i%2 == 0,
			"self_zero_point", []int64{-128, 3, 127, -500, 9}[i], "mat2_zero_point", int64(i)-1,
			"dtype", dtype))
	}
	for i, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16} {
		groups := r.Dim()
		x, w, scales := []int64{2, 4 * groups}, []int64{3, 4 * groups}, []int64{3, groups}
		zeros := any(Tensor(ir.Int32, Values{Lo: -9, Hi: 9}, scales...))
		if i == 1 {
			w[0], w[1] = w[1], w[0]
			zeros = nil
		}
		out = append(out, NewSample("self", Tensor(d, Values{}, x...), "mat2",
			Tensor(ir.Int8, Values{}, w...),
			"bias", nil, "transposed", i != 1, "self_zero_point", []int64{-128, 3, 0}[i], "mat2_zero_point",
			int64(i)-1, "dtype", ir.Float32, "scales", Tensor(ir.Float32, Values{}, scales...),
			"mat2_zero_points", zeros))
	}
	return out
}

// groupedSamples multiply runs of rows; some of no rows, and rows behind the last.
func groupedSamples(rows, matrices string) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for _, d := range []ir.DType{ir.Int64, ir.Int32} {
			ends := Tensor(d, Values{Lo: -1, Hi: 7, Sorted: true}, 4)
			out = append(out, NewSample(rows, f32(7, 3), matrices, f32(4, 3, r.Dim()), "offs", ends))
		}
		return out
	}
}
