package pte

// Effect is what an instruction does to tensors, by index in the value table.
type Effect struct {
	Reads   []int32
	Writes  []int32 // written whole, without being read
	Updates []int32 // changed, or perhaps changed: what they held may still be wanted
	// View says that Writes[0] gets the memory of Reads[0] and nothing is written.
	View bool
}

// Effects tells of every instruction, by chain, what it does to tensors; a
// MoveCall does nothing to their data. The error is a *VerifyError if the method
// is so broken that it cannot be told. An operator that schemas does not know is
// taken to write its last argument.
func (p *Program) Effects(ep *ExecutionPlan, schemas Schemas) ([][]Effect, error) {
	v := &planVerifier{verifier: &verifier{program: p, schemas: schemas, errors: &VerifyError{}},
		plan: ep}
	v.tables()
	for i := range ep.Values {
		v.value(i)
	}
	v.signature()
	if !v.found {
		v.chains()
	}
	if v.found {
		return nil, v.errors
	}
	all := make([][]Effect, len(v.calls))
	for c, effects := range v.calls {
		all[c] = make([]Effect, len(effects))
		for i, e := range effects {
			updates := e.inout
			if len(e.either) > 0 {
				updates = e.either
			}
			all[c][i] = Effect{Reads: e.reads, Writes: e.outs, Updates: updates, View: e.view}
		}
	}
	return all, nil
}
