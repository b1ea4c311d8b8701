package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// call is one form of an operator's calls.
type call struct {
	op       pte.Operator
	name     string // of the generated function
	where    string // the first of the calls, for messages
	form     string
	operands []operand // tensors read, in order of the arguments and what they list
	results  []operand // tensors written, likewise
	numbers  []number  // computed by instructions, likewise
	outs     int       // how many of the last arguments are results
	mutates  bool      // the first operand is a result
	plan     *pte.ExecutionPlan
	inputs   []int // which operand an input of the plan is; those after stand for numbers
	// rebuild makes the plan anew, with what is implied in the place of numbers
	// in lists of sizes.
	rebuild func() *call
}

// operand is a tensor of a call.
type operand struct {
	constant, dynamic bool
	rank              int
	most              int64   // elements at the bound
	order             []uint8 // of dimensions in memory, nil if row-major
}

// number is an argument that instructions compute.
type number struct {
	kind  ir.DType // Int64, Float64 or Bool
	at    int      // in a list of sizes, -1 if it is in none
	input int      // among those of the plan that stand for numbers, -1 if it is implied
	fixed bool     // there is code for value only
	value int64
}

// collector finds the forms of calls.
type collector struct {
	table *ops.Table
	byKey map[foreign.Text]*call
	names map[string]bool
	calls []*call // in order of appearance
	// custom are the operators that the application has kernels for, as nodes call them; left those
	// of them that are called, as programs do.
	custom, left map[string]bool
}

// program adds the calls of a program.
func (c *collector) program(p Program) {
	for _, plan := range p.Plans {
		changed := plan.Changed()
		for n, chain := range plan.Chains {
			for i, in := range chain.Instructions {
				k, ok := in.(pte.KernelCall)
				if !ok || pte.RuntimeSchema(plan.Operators[k.Op]) != nil {
					continue
				}
				if op := plan.Operators[k.Op]; c.custom[op.NodeName()] {
					c.left[op.String()] = true
					continue
				}
				place := fmt.Sprintf("instruction %d", i)
				if n > 0 {
					place = fmt.Sprintf("chain %d instruction %d", n, i)
				}
				where := fmt.Sprintf("%s: method %s: %s (%s)", foreign.Message(p.Name),
					foreign.Message(plan.Name), place,
					foreign.Message(plan.Operators[k.Op].String()))
				must.Do(func() { c.add(plan, changed, k, where) }, "%s", where)
			}
		}
	}
}

func (c *collector) add(plan *pte.ExecutionPlan, changed map[int32]bool, k pte.KernelCall,
	where string) {
	made := &call{op: plan.Operators[k.Op], where: where}
	build := func(implied bool) *call {
		x := *made
		b := &builder{table: c.table, from: plan, changed: changed, implied: implied, call: &x}
		b.build(k.Args)
		return &x
	}
	found := build(false)
	key := foreign.Format("%s %s", foreign.Of(found.op.String()), found.form)
	if c.byKey[key] != nil {
		return
	}
	base := camel(foreign.Of(ir.OpBase(found.op.NodeName())).Identifier())
	for n := 1; made.name == ""; n++ {
		if name := fmt.Sprintf("%s%d", base, n); !c.names[name] {
			made.name = name
			c.names[name] = true
		}
	}
	found.name, found.plan.Name = made.name, made.name
	found.rebuild = func() *call { return build(true) }
	c.byKey[key] = found
	c.calls = append(c.calls, found)
}

// camel makes a Go identifier of an operator's plain name: "_log_softmax" gives
// "logSoftmax".
func camel(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(s, "_") {
		if part != "" && b.Len() > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return "call" + strings.ToUpper(b.String()[:min(1, b.Len())]) + b.String()[min(1, b.Len()):]
}

// unknown returns an error that names the operators that the table does not
// have, with the first call of each.
func unknown(table *ops.Table, calls []*call) error {
	var missing []string
	for _, c := range calls {
		text := fmt.Sprintf("%s (%s)", foreign.Message(c.op.String()),
			c.where[:strings.LastIndex(c.where, " (")])
		if !raise.Known(table, c.op) && !slices.ContainsFunc(missing, func(s string) bool {
			return strings.HasPrefix(s, foreign.Message(c.op.String())+" ")
		}) {
			missing = append(missing, text)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf(
		"there are no kernels for these operators: %s; declare custom ones with --custom-op, "+
			"and add kernels of your own for them to the registry", strings.Join(missing, ", "))
}
