package samples

import (
	"github.com/etgen/etgen/ir"
)

// recurrentSamples are those of recurrent layers and of their cells.
var recurrentSamples = byName{
	"aten.lstm.input":            recurrent(4, 2),
	"aten.gru.input":             recurrent(3, 1),
	"aten.rnn_tanh.input":        recurrent(1, 1),
	"aten.rnn_relu.input":        recurrent(1, 1),
	"aten.lstm_cell.default":     cell(4, 2),
	"aten.gru_cell.default":      cell(3, 1),
	"aten.rnn_tanh_cell.default": cell(1, 1),
	"aten.rnn_relu_cell.default": cell(1, 1),
}

// recurrent are those of a layer with so many gates and tensors of state.
func recurrent(gates int64, state int) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i := range 4 {
			out = append(out, recurrentSample(r, i, gates, state))
		}
		return out
	}
}

// recurrentSample is the i-th: they vary layers, directions, biases, layout and projection.
func recurrentSample(r *Rand, i int, gates int64, state int) Sample {
	steps, batch, features, size := 1+r.Dim(), r.Dim(), r.Dim(), r.Dim()
	dirs, layers := int64(1+i%2), int64(1+i/2)
	biases, first := i != 1, i == 2
	shape := []int64{steps, batch, features}
	if first {
		shape = []int64{batch, steps, features}
	}
	v := Values{Lo: -0.9, Hi: 0.9}
	in := func(shape ...int64) Input { return Tensor(ir.Float32, v, shape...) }
	projects := state == 2 && i == 3
	if projects {
		size += 2 // must be more than what is projected to
	}
	out := size
	if projects {
		out = 2
	}
	args := []any{"input", in(shape...)}
	h := in(layers*dirs, batch, out)
	if state == 2 {
		args = append(args, "hx", []Input{h, in(layers*dirs, batch, size)})
	} else {
		args = append(args, "hx", h)
	}
	var params []Input
	for l := range layers {
		for range dirs {
			n := features
			if l > 0 {
				n = out * dirs
			}
			params = append(params, in(gates*size, n), in(gates*size, out))
			if biases {
				params = append(params, in(gates*size), in(gates*size))
			}
			if projects {
				params = append(params, in(out, size))
			}
		}
	}
	return NewSample(append(args, "params", params, "has_biases", biases, "num_layers", layers,
		"dropout", 0.0,
		"train", false, "bidirectional", dirs == 2, "batch_first", first)...)
}

// cell are those of one step of a layer.
func cell(gates int64, state int) func(*Rand) []Sample {
	return times(3, func(r *Rand) Sample {
		batch, in, n := r.Dim(), r.Dim(), r.Dim()
		args := []any{"input", f32(batch, in), "w_ih", f32(gates*n, in), "w_hh",
			f32(gates*n, n)}
		if state == 2 {
			args = append(args, "hx", []Input{f32(batch, n), f32(batch, n)})
		} else {
			args = append(args, "hx", f32(batch, n))
		}
		if r.IntN(2) == 0 {
			args = append(args, "b_ih", f32(gates*n), "b_hh", f32(gates*n))
		}
		return NewSample(args...)

	})
}
