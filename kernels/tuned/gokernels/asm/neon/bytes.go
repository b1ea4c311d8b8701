package main

// squares writes the function of products of words of four bytes by SMMLA, of two rows or more: an
// instruction adds eight products to each sum of two rows by two columns. V0 to V2 are elements
// of x, two rows in each, V3 and V4 two rows of weights, V5 and V6 these column by column, V8 to
// V31 sums.
func (o *writer) squares() {
	o.start("squaresNEON")
	for n := 2; n <= maxRows; n++ {
		o.only("rows", n, func() { o.squaresRows(n) })
	}
}

// squaresRows writes the products of a tile of n rows.
func (o *writer) squaresRows(n int) {
	pairs := (n + 1) / 2
	square := func(i, j int) int { return 8 + 2*vecs*i + j }
	o.label("rows", n)
	o.load(bias, 6)
	o.op("VLD1 (R6), %s", four(0))
	for j := range vecs {
		for half := range 2 {
			v := square(0, 2*j+half)
			o.op("VZIP%d V%d.D2, V%d.D2, V%d.D2", 1+half, j, j, v)
			for i := 1; i < pairs; i++ {
				o.op("VMOV V%d.B16, V%d.B16", v, square(i, 2*j+half))
			}
		}
	}
	// eight products of a row, or four: what is not there of x are zeros
	products := func(size int, load string, place int) {
		for i := range pairs {
			o.op("%s.P %d(R%d), F%d", load, size, 10+2*i, i)
			if 2*i+1 < n {
				o.op("VLD1.P %d(R%d), V%d.%c[%d]", size, 11+2*i, i, load[4], place)
			}
		}
		for j := range vecs {
			o.op("FMOVQ %d(R4), F3", 16*j)
			second := 3
			if size == 8 {
				o.op("FMOVQ %d(R6), F4", 16*j)
				second = 4
			}
			for half := range 2 {
				o.op("VZIP%d V%d.S4, V3.S4, V%d.S4", 1+half, second, 5+half)
			}
			for i := range pairs {
				for half := range 2 {
					o.word("SMMLA", 0x4e80a400, square(i, 2*j+half), i, 5+half)
				}
			}
		}
	}
	o.taps(n, func() {
		o.op("SUBS $2, R16, R16")
		o.op("BLT last%d", n)
		o.label("depth", n)
		o.op("ADD R5, R4, R6")
		products(8, "FMOVD", 1)
		o.op("ADD R5, R6, R4")
		o.op("SUBS $2, R16, R16")
		o.op("BGE depth%d", n)
		o.label("last", n)
		o.op("CMP $-1, R16")
		o.op("BNE whole%d", n)
		products(4, "FMOVS", 2)
		o.op("ADD R5, R4")
		o.label("whole", n)
	})
	for i := range pairs {
		for j := range vecs {
			o.op("VZIP2 V%d.D2, V%d.D2, V%d.D2", square(i, 2*j+1), square(i, 2*j), j)
			o.op("VZIP1 V%d.D2, V%d.D2, V%d.D2", square(i, 2*j+1), square(i, 2*j), square(i, j))
		}
		for j := range vecs {
			o.op("VMOV V%d.B16, V%d.B16", j, square(i, vecs+j))
		}
	}
	o.floats(n)
	o.load(y, 10)
	o.load(add, 11)
	o.epilogue(n)
	o.op("RET")
}

// words writes the function that makes blocks of 16 bytes of floats that are whole numbers.
func (o *writer) words() {
	o.WriteString("\n// func wordsNEON(to, from []float32, blocks, offset int)\n" +
		"TEXT ·wordsNEON(SB), $0-64\n")
	o.op("MOVD to_base+0(FP), R1")
	o.op("MOVD from_base+24(FP), R2")
	o.op("MOVD blocks+48(FP), R3")
	o.op("MOVD offset+56(FP), R4")
	o.op("VDUP R4, V16.S4")
	o.label("block", 0)
	o.op("VLD1.P 64(R2), %s", four(0))
	for j := range vecs {
		o.convert(fcvtzs, j, j)
		o.op("VADD V16.S4, V%d.S4, V%d.S4", j, j)
	}
	o.op("VUZP1 V1.H8, V0.H8, V4.H8")
	o.op("VUZP1 V3.H8, V2.H8, V5.H8")
	o.op("VUZP1 V5.B16, V4.B16, V6.B16")
	o.op("VST1.P [V6.B16], 16(R1)")
	o.again(3, "block", 0)
	o.op("RET")
}

// spread writes the function that makes four rows of floats of each row of bytes.
func (o *writer) spread() {
	o.WriteString("\n// func spreadNEON(to, from []float32, width, rows int)\n" +
		"TEXT ·spreadNEON(SB), $0-64\n")
	o.op("MOVD to_base+0(FP), R4")
	o.op("MOVD from_base+24(FP), R1")
	o.op("MOVD width+48(FP), R2")
	o.op("MOVD rows+56(FP), R3")
	o.op("LSL $2, R2, R2")
	o.label("rows", 0)
	for k := range 3 {
		o.op("ADD R2, R%d, R%d", 4+k, 5+k)
	}
	o.op("MOVD R2, R8")
	o.label("columns", 0)
	o.op("VLD1.P 64(R1), %s", four(0))
	for k := range 4 {
		for j := range vecs {
			from := j
			if k < 3 {
				o.op("VSHL $%d, V%d.S4, V%d.S4", 8*(3-k), j, 4+j)
				from = 4 + j
			}
			o.op("WORD $0x%08x // SSHR $24, V%d, V%d", 0x4f280400|from<<5|(4+j), from, 4+j)
			o.convert(scvtf, 4+j, 4+j)
		}
		o.op("VST1.P %s, 64(R%d)", four(4), 4+k)
	}
	o.op("SUBS $64, R8, R8")
	o.op("BNE columns0")
	o.op("MOVD R7, R4")
	o.again(3, "rows", 0)
	o.op("RET")
}
