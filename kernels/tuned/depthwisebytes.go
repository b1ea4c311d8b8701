package tuned

import (
	"encoding/binary"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// byteBlock is how many channels DepthwiseBytes takes at once.
const byteBlock = 64

// DepthwiseBytes is DepthwiseRows for images that were quantized to bytes. Elements of such an
// image are bytes, or floats that are these bytes less their zero point. The machine decides which,
// so the weights, and what sums begin with, are there twice: for floats and for bytes.
func DepthwiseBytes() *Kernel {
	return &Kernel{Name: "depthwise_bytes", Descriptor: depthwiseBytesParams,
		Go: "rows.DepthwiseBytes", Windows: true,
		Buffers: []string{"w", "bias", "scratch"}, Bounds: true, Rescales: true,
		Operands: []string{"x"}, Match: matchDepthwiseBytes}
}

// matchDepthwiseBytes takes convolutions by single channels whose sums float32 holds exactly.
func matchDepthwiseBytes(r *Request) *Instance {
	cv := int8Of(r)
	if cv == nil || !ChannelsLast(r.Target) || !cv.slidesBytes() || !cv.xLast || !cv.yLast ||
		r.Call.Has(cv.biasName) || r.Call.Outs[0].DType != ir.Float32 ||
		r.Call.Tensor("input").DType != ir.Float32 || cv.offset != -int64(int8(-cv.offset)) {
		return nil
	}
	given, ok := r.Const(cv.w)
	all := int(roundUp(int64(cv.groups), byteBlock))
	// Less than three quarters of a block are not worth it.
	if !ok || cv.groups%byteColumns != 0 || 3*all > 4*cv.groups {
		return nil
	}
	cv.read, cv.given, cv.bias = true, true, make([]float32, cv.groups)
	rows, cols := &cv.axes[0], &cv.axes[1]
	fours := int(roundUp(int64(rows.kernel), 4)) / 4
	words, start := make([]byte, 4*fours*cols.kernel*all), make([]byte, 4*all)
	for c := range cv.groups {
		sum, far := int64(0), int64(0)
		block, lane := c/byteBlock, byteLane(c%byteBlock)
		for i := range cv.depth() {
			v := int64(int8(given[cv.place(c, i)])) + cv.wOffset
			if v != int64(int8(v)) {
				return nil
			}
			row, col := i/cols.kernel, i%cols.kernel
			at := ((block*fours+row/4)*cols.kernel+col)*byteBlock + lane
			words[4*at+row%4] = byte(v)
			sum, far = sum+v, far+max(v, -v)
			cv.weights = append(cv.weights, float32(v))
		}
		if far*cv.farthest() > ops.ExactSum {
			return nil
		}
		binary.LittleEndian.PutUint32(start[4*(block*byteBlock+lane):],
			uint32(int32((cv.offset-128)*sum)))
	}
	w, bias := cv.panels(1, cv.groups, cv.groups, 0)
	in := cv.instance(r.Target.tile(), depthwiseBytesParams, Values{"channels": num(cv.groups),
		"pad_value": num(-cv.offset)}, w, bias)
	for i, more := range [][]byte{words, start} {
		p := &in.Packed[i]
		p.Data, p.Panels = append(p.Data, more...), nil
	}
	in.Scratch = sym.Mul(cols.reach(), num(4*byteBlock*fours))
	in.RunChannels, in.Exact = true, true
	in.ReadsBytes = cols.inStride.Is(int64(cv.groups))
	in.StoresBytes = in.ReadsBytes && cols.slides()
	in.Cost = cost(in.MACs) / 16
	return in
}

// byteLane is where channel c of a block lies in four vectors: each has fours of channels.
func byteLane(c int) int { return c%16/4*16 + c/16*4 + c%4 }
