package ops

// tensorGroups lists the families that move elements about or combine many of
// them.
func tensorGroups() [][]Op {
	return [][]Op{
		viewOps(),
		rankOps(),
		luOps(),
		matmulOps(),
		einsumOps(),
		softmaxOps(),
		normOps(),
		{batchNormGiven()},
		convOps(),
		poolOps(),
		joinOps(),
		rearrangeOps(),
		padOps(),
		indexOps(),
		dataSizeOps(),
		uniqueOps(),
		modeOps(),
		triangleIndexOps(),
		polynomialOps(),
		specialOps(),
		scatterOps(),
		upsampleOps(),
		upsampleAAOps(),
		distanceOps(),
		backwardOps(),
		normBackwardOps(),
		floatBitOps(),
		randomOps(),
		gridOps(),
		attentionOps(),
		rnnOps(),
		cellOps(),
		diagonalOps(),
		unfoldOps(),
		tensorCompositeOps(),
	}
}
