package tensor

// ChannelsLast returns the elements of an image, [1, channels, rows, columns], row by row
// and in a row pixel by pixel, of each its channels.
func (t *Tensor) ChannelsLast() []byte {
	channels, pixels, size := t.Shape[1], t.Shape[2]*t.Shape[3], int64(t.DType.Size())
	out := make([]byte, 0, len(t.Data))
	for p := range pixels {
		for c := range channels {
			at := (c*pixels + p) * size
			out = append(out, t.Data[at:at+size]...)
		}
	}
	return out
}
