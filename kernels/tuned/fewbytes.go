package tuned

import (
	"encoding/binary"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// ConvFewBytes is ConvFew for images of bytes that are floats less their zero point, of less than 4
// channels. It has weights, and what sums begin with, for bytes and for floats: the machine
// decides.
func ConvFewBytes() *Kernel {
	return &Kernel{Name: "conv2d_few_bytes", Descriptor: convFewBytesParams, Go: "rows.ConvFewBytes",
		Buffers: []string{"w", "bias", "scratch"}, Bounds: true, Rescales: true,
		Operands: []string{"x"}, Match: matchFewBytes}
}

func matchFewBytes(r *Request) *Instance {
	cv := int8Of(r)
	if cv == nil || !ChannelsLast(r.Target) || cv.linear || cv.cin >= fewestBytes || cv.groups > 1 ||
		r.Call.Has(cv.biasName) || r.Call.Outs[0].DType != ir.Float32 ||
		r.Call.Tensor("input").DType != ir.Float32 || cv.offset != -int64(int8(-cv.offset)) {
		return nil
	}
	given, ok := r.Const(cv.w)
	if !ok {
		return nil
	}
	cv.read, cv.given, cv.bias = true, true, make([]float32, cv.cout)
	for _, b := range given {
		v := int64(int8(b)) + cv.wOffset
		if v != int64(int8(v)) {
			return nil
		}
		cv.weights = append(cv.weights, float32(v))
	}
	in := cv.few(r)
	if in == nil {
		return nil
	}
	pixel := 1 // bytes of it in the copy
	if cv.cin > 1 {
		pixel = 4
	}
	run := int(roundUp(int64(cv.kernel[1]*pixel), 8))
	words := make([]byte, cv.kernel[0]*run*fewChannels)
	start := make([]byte, fewChannels*8)
	for c := range cv.cout {
		sum, far := int64(0), int64(0)
		for i := range cv.depth() {
			v := int64(cv.weights[cv.place(c, i)])
			tap, channel := i/cv.cin, i%cv.cin
			at := tap%cv.kernel[1]*pixel + channel
			words[((tap/cv.kernel[1]*run+at/8*8)*fewChannels)+c*8+at%8] = byte(v)
			sum, far = sum+v, far+max(v, -v)
		}
		if far*cv.farthest() > ops.ExactSum {
			return nil
		}
		binary.LittleEndian.PutUint32(start[8*c:], uint32(int32((cv.offset-128)*sum)))
	}
	for i, more := range [][]byte{words, start} {
		p := &in.Packed[i]
		p.Data, p.Panels = append(p.Data, more...), nil
	}
	in.Params = append(in.Params, Param{"pad_value", num(-cv.offset)}, Param{"out_bytes", sym.Int(0)})
	in.StoresBytes = cv.yLast
	// A row of the copy has at most so many bytes; behind the last one some more are read.
	cols := &cv.axes[1]
	line := sym.Add(sym.Mul(sym.Add(cols.reach(), cols.pad), num(pixel)), num(8))
	in.Scratch = sym.Max(in.Scratch, sym.Add(sym.Mul(in.param("padded_h"), line),
		sym.Mul(cols.stride, num(pixel)), num(16)))
	in.Exact = true
	in.Cost /= 2
	return in
}
