package codegen

import (
	"cmp"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// Options steer the printers of native form.
type Options struct {
	// Name is that of the program. In C it is the prefix of every external name and the base
	// of the file names: an identifier in lower case. The Go package's name is made of it.
	Name string
	// Generator is named in the head of every file; "" is "etgen".
	Generator string
	// Package, of Go, is the package that the files become part of, which has other files
	// too; "" makes a package of its own.
	Package string
	// Internal, of Go, is for a package whose door is other code in it: nothing is
	// exported, and what owns the memory is made for each method by itself. The
	// type Model is called model, New is newModel(arena int), which takes the
	// bytes of arena that the methods called need.
	Internal bool
	// Profile makes code that tells its [Events]: in C it calls NAME_profile_event, which
	// NAME_profile.c defines; in Go the field ProfileEvent of Model. What comes with the code sums
	// up the time of each kernel and writes it for etgen profile.
	Profile bool
	// Machine is what the package is for. If macros tell of it, the text of C has only what
	// it needs, and the compiler of no other takes it; else, and if it is nil, the text has
	// all and leaves it to the macros. In Go it says which assembly there is; nil: that of all.
	Machine *tuned.Machine
	// Threads, if over 1, is the number of parts that the kernels which can be are divided
	// into. In C the application's NAME_parallel_for runs them; in Go so many goroutines
	// do, and NewThreads makes a Model with another number of them.
	Threads int
	// Weights, of C, is the form that weights have, one of WeightForms; "" is C for those that
	// are small, else assembly.
	Weights string
	// CPP, of C, adds NAME.hpp, a class of C++.
	CPP bool
	// Separate, of C, makes each method a model with files of its own: see codegen/c.
	Separate bool
	// Sections, of C, are the names of the sections that things are put into; what has none is
	// where the compiler puts it.
	Sections map[SectionKind]string
	// Custom, of Go, has the kernels of custom operators; nil if there are none.
	Custom *custom.Kernels
	// FunctionWeight is from which weight on functions of the text are divided; 0 is
	// MaxWeight. Only tests ask for less.
	FunctionWeight int
	// Done, if not nil, ends printing with an error soon after it is closed.
	Done <-chan struct{}
}

// Begin completes the options, and returns p with its large functions divided and the
// events of its calls, nil without Profile.
func (o *Options) Begin(p *native.Program) (*native.Program, *Events) {
	o.Generator = cmp.Or(o.Generator, "etgen")
	o.FunctionWeight = cmp.Or(o.FunctionWeight, MaxWeight)
	var events *Events
	if o.Profile {
		events = NewEvents(p)
	}
	return Divide(p, o.FunctionWeight, events), events
}
