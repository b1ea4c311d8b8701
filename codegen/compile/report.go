package compile

import (
	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
)

// Reported is Package for a language with a native form, with a report of what the program
// takes.
func Reported(p *ir.Program, opt Options) (pkg *codegen.Package, r *report.Report, err error) {
	defer internal(p, &err)
	defer must.Catch(&err)
	l := opt.native()
	target := opt.target(l)
	var macs []map[report.Place]int64
	after := opt.After
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if pass.Name == string(l.pipeline.To) {
			macs = macsOf(p)
		}
		if after == nil {
			return nil
		}
		return after(pass, p)
	}
	np := must.Get(Native(p, opt))
	pkg = must.Get(Print(np, opt))
	r, err = report.New(report.Program{Native: np, Package: pkg, Language: l.Kernels, Target: target,
		Separate: opt.Separate, MACs: macs})
	return pkg, r, err
}

// macsOf counts the multiply-accumulates of the nodes of each method, those of dynamic sizes at
// their bounds. What depends on data counts as none.
func macsOf(p *ir.Program) (all []map[report.Place]int64) {
	table := ops.Standard()
	for _, m := range p.Methods {
		macs := map[report.Place]int64{}
		for n := range m.Graph.All() {
			if len(n.Regions) > 0 {
				continue
			}
			if terms, err := ops.MACs(table, n); err == nil {
				if _, most := terms.Bounds(); most > 0 && most < 1<<62 {
					macs[report.Place{Node: foreign.Of(n.Name), Loc: native.LocationOf(n.Loc)}] += most
				}
			}
		}
		all = append(all, macs)
	}
	return all
}

// MACs counts those of one call of all methods, as they are before lowering: what composite
// operators have is not counted where their definitions do not tell.
func MACs(p *ir.Program) (sum int64, err error) {
	if err := ir.Verify(p); err != nil {
		return 0, err
	}
	for _, macs := range macsOf(p) {
		for _, n := range macs {
			sum += n
		}
	}
	return sum, nil
}
