package way

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/session"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Settings are what the compiled ways share.
type Settings struct {
	Options compile.Options // Lang and Name are set by the way
	Limit   time.Duration   // for one call; 0: DefaultTime
	Memory  int64           // bytes of a call's inputs, outputs, arena and state; 0: DefaultMemory
	// Keep is the folder to build in; "": a temporary one, removed afterwards.
	Keep string
	// Drivers are what runs delegates.
	Drivers Drivers
}

// Drivers are files that run delegates in generated packages.
type Drivers struct {
	C  []string // they define what net_delegate.h declares
	Go []string // each becomes one of the package, and one declares func Drivers() Backends
}

// of returns the files for a language.
func (d Drivers) of(lang string) []string {
	if lang == (C{}).Name() {
		return d.C
	}
	return d.Go
}

// unit is a job on its way through a batch.
type unit struct {
	index   int // among the jobs
	name    string
	dir     string // of its package
	result  *Result
	pkg     *codegen.Package
	layouts []*layout   // of its methods
	first   int         // model number of its first method
	work    []*work     // of its methods
	steps   int         // of all methods if they are counted
	counted *stepCounts // by the program as it runs
	// statuses are what the package's functions in C return, by their numbers.
	statuses []string
}

// builder turns the units that were compiled into one program. A unit that does
// not build gets its error in result.Err and is left out; model numbers count
// the methods of the units that are returned.
type builder func(ctx context.Context, dir string, units []*unit) (*session.Program, []*unit, error)

// runBatch compiles, builds and runs jobs.
func runBatch(ctx context.Context, s Settings, lang string, jobs []Job, build builder,
	done func(int, *Result)) {
	fail := func(err error) {
		for i := range jobs {
			done(i, &Result{Err: err})
		}
	}
	dir := s.Keep
	if dir == "" {
		temp, remove, err := interrupt.TempDir("etgen-")
		if err != nil {
			fail(&toolchain.MissingError{
				Err: fmt.Errorf("a temporary folder cannot be made (TMPDIR says where): %w", err)})
			return
		}
		defer remove()
		dir = temp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		fail(err)
		return
	}
	units := newUnits(dir, jobs)
	parallel(len(jobs), func(i int) {
		u := units[i]
		if u.result.Err = ctx.Err(); u.result.Err == nil {
			u.result.Err = guard(func() error {
				return u.compile(ctx, jobs[i], s, lang)
			})
		}
	})
	var ready []*unit
	for _, u := range units {
		if u.result.Err != nil {
			done(u.index, u.result)
			continue
		}
		ready = append(ready, u)
	}
	if len(ready) == 0 {
		return
	}
	program, built, err := build(ctx, dir, ready)
	for _, u := range ready {
		u.result.Err = fileError(ctx, u.result.Err)
	}
	if err = fileError(ctx, err); err != nil {
		for _, u := range ready {
			if u.result.Err == nil {
				u.result.Err = err
			}
		}
		built = nil
	}
	for _, u := range ready {
		if u.result.Err != nil {
			done(u.index, u.result)
		}
	}
	models := 0
	for _, u := range built {
		u.first = models
		models += len(u.layouts)
	}
	if len(built) > 0 {
		runUnits(ctx, s, program, built, jobs, done)
	}
}

// newUnits names the units after their jobs: their text is the same in every batch, so
// that compilers' caches know it.
func newUnits(dir string, jobs []Job) []*unit {
	taken := map[string]bool{}
	units := make([]*unit, len(jobs))
	for i, j := range jobs {
		base := "m_" + compile.NameOf(j.Name)
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[name] = true
		units[i] = &unit{index: i, name: name, dir: filepath.Join(dir, name), result: &Result{}}
	}
	return units
}

// compile makes the unit's package and writes it into its folder.
func (u *unit) compile(ctx context.Context, j Job, s Settings, lang string) error {
	open, opt := j.Open, s.Options
	if j.isProgram() && opt.Custom != nil { // it does not tell the schemas
		open = func() (*ir.Program, io.Closer, error) {
			return opt.Read(j.File)
		}
	}
	p, closer, err := open()
	if err != nil {
		return err
	}
	if closer != nil {
		defer closer.Close()
	}
	opt.Context, opt.Lang, opt.Name = ctx, lang, u.name
	after := opt.After
	last := string(lower.Backend.To)
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if pass.Name == last {
			u.result.Terms = Terms(ops.Standard(), p)
			u.work = macs(ops.Standard(), p)
		}
		if after != nil {
			return after(pass, p)
		}
		return nil
	}
	np, err := compile.Native(p, opt)
	if err != nil {
		return err
	}
	if len(np.Delegates) > 0 && len(s.Drivers.of(lang)) == 0 {
		d := np.Delegates[0]
		return fmt.Errorf("it calls the delegate %s, which needs its backend %s%s: compile the model, "+
			"and link the package with a driver for it", d.Name, d.Backend, because(d.Unread))
	}
	if u.pkg, err = compile.Print(np, opt); err != nil {
		return err
	}
	if lang == (C{}).Name() {
		if err := linked(np, opt.Custom); err != nil {
			return err
		}
	}
	u.result.Native = np
	u.result.Weights = codegen.LayOut(np).Size
	for _, f := range u.pkg.Files {
		if isSource(f.Name) {
			u.result.Code += int64(len(f.Data))
		}
	}
	if opt.Profile {
		u.result.Steps = nativeSteps(np, u.work)
		for _, s := range u.result.Steps {
			u.steps += len(s)
		}
	}
	for _, m := range np.Methods {
		u.result.Arena = max(u.result.Arena, codegen.ArenaSize(m))
		l, err := newLayout(m)
		if err != nil {
			return err
		}
		u.layouts = append(u.layouts, l)
	}
	need := u.result.Arena
	for _, b := range np.State {
		need += b.MaxLen * int64(b.DType.Size())
	}
	if err := CheckMemory("the model", need, s.Memory); err != nil {
		return err
	}
	return ofMachine(ctx, u.pkg.Write(ctx, u.dir))
}

// because is a reason behind what it explains.
func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// fileError is ofMachine of an error of building if a file cannot be written.
func fileError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return ofMachine(ctx, err)
	}
	return err
}

// ofMachine says that err, if it is one and ctx goes on, is of the machine that builds
// or runs models, and of no model.
func ofMachine(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &toolchain.MissingError{Err: err}
}

// isSource tells program text from weights.
func isSource(name string) bool {
	return !strings.HasSuffix(name, ".bin") && !strings.Contains(name, "weights")
}

// parallel calls f for 0 … n-1 on all processors.
func parallel(n int, f func(int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.NumCPU()) {
		wait.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// runUnits makes the calls of all units.
func runUnits(ctx context.Context, s Settings, program *session.Program, units []*unit, jobs []Job,
	done func(int, *Result)) {
	program.Limit = s.Limit
	if program.Limit == 0 {
		program.Limit = DefaultTime
	}
	at, call := 0, 0 // unit, and call of it
	failed := false  // the call before
	current := func() (*unit, *Call) {
		for at < len(units) && call == len(jobs[units[at].index].Calls) {
			done(units[at].index, units[at].result)
			at, call, failed = at+1, 0, false
		}
		if at == len(units) {
			return nil, nil
		}
		return units[at], &jobs[units[at].index].Calls[call]
	}
	finish := func(u *unit, r CallResult) {
		failed = r.Err != nil
		u.result.Calls = append(u.result.Calls, r)
		call++
	}
	program.Run(ctx, func() *session.Request {
		for {
			u, c := current()
			if u == nil {
				return nil
			}
			if c.Keep && failed && !c.Anyway {
				finish(u, CallResult{Err: errNotRun})
				continue
			}
			args, err := u.layouts[c.Method].arguments(*c)
			if err == nil {
				err = CheckMemory("the call", u.result.Arena+sizeOf(args), s.Memory)
			}
			if err != nil {
				finish(u, CallResult{Err: err})
				continue
			}
			if u.result.Steps != nil {
				args = append(args, session.Arg{Mode: session.Out, Len: stepBytes(u.steps)})
			}
			if c.Turn != nil {
				c.Turn.Lock()
			}
			return &session.Request{Model: u.first + c.Method, Reset: !c.Keep, Repeat: c.Repeat,
				For: c.For, Args: args}
		}
	}, func(a *session.Answer, err error) {
		u, c := current()
		if c.Turn != nil {
			c.Turn.Unlock()
		}
		switch {
		case err != nil:
			for _, u := range units {
				u.counted = nil // the program starts anew
			}
			if start, ok := errors.AsType[*session.StartError](err); ok {
				err = ofMachine(ctx, fmt.Errorf("the program that was built does not start: %w",
					start))
			}
			finish(u, CallResult{Err: err})
		case a.Status != 0:
			finish(u, CallResult{Err: statusError(a, u.statuses)})
		default:
			finish(u, u.answer(c, a))
		}
	})
}

// sizeOf returns the bytes of arguments.
func sizeOf(args []session.Arg) int64 {
	sum := int64(0)
	for _, a := range args {
		sum += a.Len + int64(len(a.Data))
	}
	return sum
}

// answer reads what a call gave and how it ran.
func (u *unit) answer(c *Call, a *session.Answer) CallResult {
	var counts *stepCounts
	if u.result.Steps != nil {
		last := len(a.Outputs) - 1
		now := decodeSteps(a.Outputs[last], u.steps)
		counts, u.counted = now.since(u.counted), now
		a.Outputs = a.Outputs[:last]
	}
	r := u.layouts[c.Method].result(*c, a)
	w := u.work[c.Method]
	r.MACs = w.total(c.Inputs)
	if counts != nil {
		first := 0
		for _, s := range u.result.Steps[:c.Method] {
			first += len(s)
		}
		r.Steps = counts.of(u.result.Steps[c.Method], first, w, c.Inputs)
	}
	return r
}

// What errors of Go packages begin with that are ErrShape, behind the package's name, and what
// they say of other inputs that do not fit.
const goShape = ": wrong shape: "

var goRefusals = []string{": assertion failed", ": index out of range"}

// statusWords say more of what generated C returns.
var statusWords = map[string]string{"ERR_OPERATOR": ", a kernel of a custom operator returns false",
	"ERR_DELEGATE": ", a driver of a delegate returns false"}

// statusError is what a call says that fails. Statuses are what C packages return.
func statusError(a *session.Answer, statuses []string) error {
	var err error
	status := ""
	switch {
	case a.Message != "":
		err = fmt.Errorf("the call fails: %s", a.Message)
	case a.Status > 0 && int64(a.Status) < int64(len(statuses)):
		status = statuses[a.Status]
		err = fmt.Errorf("the call fails: status %d (%s%s)", a.Status, status, statusWords[status])
	default:
		err = fmt.Errorf("the call fails: status %d", a.Status)
	}
	if status == "ERR_SHAPE" || strings.Contains(a.Message, goShape) {
		return inputs(shapeError{err})
	}
	says := func(s string) bool { return strings.Contains(a.Message, s) }
	if status == "ERR_ASSERT" || status == "ERR_INDEX" || slices.ContainsFunc(goRefusals, says) {
		return inputs(err)
	}
	return err
}
