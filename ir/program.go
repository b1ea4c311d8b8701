package ir

// SourceOf returns the base name of the file that a method of p was read from.
func (p *Program) SourceOf(m *Method) string {
	if m.Source != "" {
		return m.Source
	}
	return p.Source
}

// IsState reports whether graph inputs of the kind hold what the model owns and
// may change: they are known by their targets, to all methods of a program.
func (k InputKind) IsState() bool { return k == Parameter || k == Buffer }

// Written returns the targets of the parameters and buffers that methods of p
// write to.
func (p *Program) Written() map[string]bool {
	written := map[string]bool{}
	for _, m := range p.Methods {
		for _, o := range m.Outputs {
			if o.Kind == BufferMutation || o.Kind == ParameterMutation {
				written[o.Target] = true
			}
		}
	}
	return written
}

// SharedState returns the targets of the parameters and buffers that more than
// one method of p has and one writes to: what it leaves there the others find.
func (p *Program) SharedState() map[string]bool {
	written, seen, shared := p.Written(), map[string]bool{}, map[string]bool{}
	for _, m := range p.Methods {
		for _, spec := range m.Inputs {
			if !spec.Kind.IsState() || !written[spec.Target] {
				continue
			}
			if seen[spec.Target] {
				shared[spec.Target] = true
			}
			seen[spec.Target] = true
		}
	}
	return shared
}
