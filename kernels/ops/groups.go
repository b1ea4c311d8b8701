package ops

// groups lists the families of the standard table, a file each.
func groups() [][]Op {
	base := append([][]Op{
		arithmeticOps(),
		activationOps(),
		comparisonOps(),
		roundingOps(),
		transcendentalOps(),
		selectionOps(),
		copyOps(),
		dimOrderOps(),
		creationOps(),
		reductionOps(),
		cumulativeOps(),
		sortOps(),
		compositeOps(),
		searchOps(),
		integerOps(),
		quantOps(),
		cortexMOps(),
		scalarOps(),
		primOps(),
		assertionOps(),
	}, tensorGroups()...)
	return append(base, derivedOps(base))
}
