package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
	"github.com/etgen/etgen/rt"
)

const (
	batch = 96 // mutants in one C program and one Go program
	// maxRun is the bytes of arguments and arena that a mutant may have to be run.
	maxRun = 32 << 20
	// A call that takes longer, or more iterations of the interpreter's loops, is one
	// of a model that does not end; the ways must agree on it.
	maxTime       = 10 * time.Second
	maxIterations = 1 << 26
	// maxMemory is what a worker may take.
	maxMemory = 3 << 30
)

// quick plans as ever but does not search for long: what is mutated is the model.
var quick = plan.Best{Effort: 10_000}

// counts tells what came of mutants.
type counts struct {
	mutants, refused, compiled, same, large, run, finds int
}

func (c *counts) add(d counts) {
	c.mutants += d.mutants
	c.refused += d.refused
	c.compiled += d.compiled
	c.same += d.same
	c.large += d.large
	c.run += d.run
	c.finds += d.finds
}

func (c counts) String() string {
	return fmt.Sprintf(
		"%d mutants: %d refused, %d compiled (%d of them the same code as another, "+
			"%d too large to run), %d run, %d finds",
		c.mutants, c.refused, c.compiled, c.same, c.large, c.run, c.finds)
}

// worker tries mutants and says on out what it is at, a line each:
//
//	at SEED WHAT                 what it does next
//	find SEED TEXT               what it found
//	done SEED COUNTS…            all mutants before SEED have been tried
type worker struct {
	out     io.Writer
	sources []string
	program bool   // mutate ExecuTorch programs, not archives
	dir     string // the folder of those that are tried
	finds   string // the folder for files that show a find
	most    int    // instructions of a call in the runtime; 0 is its default
	skip    map[uint64]bool

	counts counts // since the last "done"
	seen   map[[32]byte]bool
	queue  []*subject
	rounds int
}

// subject is a mutant that compiles.
type subject struct {
	seed  uint64
	from  string // the source
	file  []byte
	path  string // of the file, if it is an ExecuTorch program
	calls []way.Call
	more  int // times that inputs are drawn beyond the first
	// wild: a constant holds what is no number, or infinite. Zero times it is no number,
	// and a convolution may leave out what it multiplies with the zeros of its padding.
	wild bool
	// bits: integers are the bits of floats, of which ways may differ in the last ones.
	bits bool
}

func newWorker(out io.Writer) *worker {
	return &worker{out: out, skip: map[uint64]bool{}, seen: map[[32]byte]bool{}}
}

func (w *worker) say(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// try tries the mutants from seed first to before last.
func (w *worker) try(first, last uint64) {
	go watchMemory(w)
	if w.program {
		var err error
		if w.dir, err = os.MkdirTemp("", "mutate"); err != nil {
			w.say("find %d %v", first, err)
			return
		}
		defer os.RemoveAll(w.dir)
	}
	for seed := first; seed < last; seed++ {
		if w.skip[seed] {
			continue
		}
		w.say("at %d compile", seed)
		s, err := w.make(seed)
		switch {
		case err != nil:
			w.counts.mutants++
			w.find(&subject{seed: seed}, "no mutant: %v", err)
		case s == nil:
			w.counts.mutants++
			w.counts.refused++
		default:
			w.one(s)
		}
		if len(w.queue) == batch {
			w.flush(seed + 1)
		}
	}
	w.flush(last)
}

// tryFiles tries files as they are, made for speed and for size.
func (w *worker) tryFiles(files []string) error {
	for i, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		one := &subject{seed: uint64(i), from: name, file: file, more: 15}
		if filepath.Ext(name) == ".pte" {
			one.path = name
		}
		w.one(one)
	}
	if len(w.queue) > 0 {
		w.runQueue()
		w.runQueue()
	}
	return nil
}

func watchMemory(w *worker) {
	for range time.Tick(20 * time.Millisecond) {
		data, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			return // no Linux: there is no limit
		}
		fields := strings.Fields(string(data))
		if pages, _ := strconv.ParseInt(fields[1], 10, 64); pages*int64(os.Getpagesize()) >
			maxMemory {
			w.say("memory")
			os.Exit(3)
		}
	}
}

// seededRand gives the random numbers of a seed.
func seededRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// make makes the mutant of a seed, nil if etgen writes no program of its source.
func (w *worker) make(seed uint64) (*subject, error) {
	r := seededRand(seed)
	from := pick(r, w.sources)
	file, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	s := &subject{seed: seed, from: from}
	if !w.program {
		s.file, err = mutant(r, file)
		return s, err
	}
	if s.file, err = mutantProgram(r, file); err != nil || s.file == nil {
		return nil, err
	}
	s.path = filepath.Join(w.dir, fmt.Sprintf("%d.pte", seed))
	return s, os.WriteFile(s.path, s.file, 0o666)
}

func (w *worker) find(s *subject, format string, args ...any) {
	w.counts.finds++
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | ")
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	w.say("find %d %s: %s", s.seed, filepath.Join(filepath.Base(filepath.Dir(s.from)),
		filepath.Base(s.from)), text)
	if w.finds != "" {
		_ = os.WriteFile(filepath.Join(w.finds, strconv.FormatUint(s.seed, 10)+extension(
			w.program)), s.file, 0o666)
	}
}

// one compiles a mutant, to be run with others.
func (w *worker) one(s *subject) {
	w.counts.mutants++
	var texts [2][]byte // in C and in Go
	var errs [2]error
	start := time.Now()
	for i, l := range tuned.Languages() {
		texts[i], errs[i] = w.compile(s, l, i == 0)
	}
	if took := time.Since(start); took > 30*time.Second {
		w.find(s, "compiling takes %v", took)
	}
	for _, err := range errs {
		if err != nil && !clear(err, s.name()) {
			w.find(s, "%v", err)
			return
		}
	}
	switch {
	case errs[0] != nil && errs[1] != nil,
		errs[1] != nil && strings.Contains(errs[1].Error(), "Go output has no elements of dtype"):
		w.counts.refused++
		return
	case errs[0] != nil || errs[1] != nil:
		w.find(s, "C: %v; Go: %v", errs[0], errs[1])
		return
	}
	w.counts.compiled++
	key := sha256.Sum256(slices.Concat(texts[0], texts[1]))
	if w.seen[key] {
		w.counts.same++
		return
	}
	w.seen[key] = true
	if s.calls == nil {
		w.counts.large++
		return
	}
	w.queue = append(w.queue, s)
}

// clear reports whether an error is one for users.
func clear(err error, name string) bool {
	text := err.Error()
	for _, bad := range []string{"internal error", "a defect of etgen", "runtime error", "panic"} {
		if strings.Contains(text, bad) {
			return false
		}
	}
	return strings.HasPrefix(text, name)
}

// isProgram reports whether the subject is an ExecuTorch program.
func (s *subject) isProgram() bool { return s.path != "" }

// name is the file's, as errors say it.
func (s *subject) name() string {
	if s.isProgram() {
		return filepath.Base(s.path)
	}
	return "mutant.pt2"
}

func (s *subject) open() (*ir.Program, io.Closer, error) {
	if s.isProgram() {
		return compile.Read(s.path)
	}
	p, err := pt2.ReadZip(bytes.NewReader(s.file), int64(len(s.file)), "mutant.pt2")
	return p, nil, err
}

// compile returns the source text of a mutant in a language. If it is asked to, it draws
// the mutant's inputs.
func (w *worker) compile(s *subject, l *tuned.Language, draws bool) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	p, closer, err := s.open()
	if err != nil {
		return nil, err
	}
	if closer != nil {
		defer closer.Close()
	}
	opt := compile.Options{Lang: l.Name, Name: "mutant", Planner: quick}
	np, err := compile.Native(p, opt)
	if err != nil {
		return nil, err
	}
	pkg, err := compile.Print(np, opt)
	if err != nil {
		return nil, err
	}
	for _, f := range pkg.Files {
		text = append(text, f.Data...)
	}
	if draws {
		s.wild, s.bits = wild(p), bits(p)
		r := seededRand(s.seed ^ 0xabcdef)
		s.calls = draw(r, np)
		for k := 0; k < s.more && s.calls != nil; k++ {
			s.calls = append(s.calls, draw(r, np)...)
		}
	}
	return text, nil
}

// draw draws calls of the first method, at the smallest sizes and at others, then one more
// that finds the state of the last. It is nil if they would take too much memory.
func draw(r *rand.Rand, np *native.Program) []way.Call {
	m := np.Methods[0]
	var calls []way.Call
	for k := range 4 {
		sizes := map[*sym.Symbol]int64{}
		env := func(s *sym.Symbol) (int64, bool) {
			if _, ok := sizes[s]; !ok {
				lo, hi := s.Expr().Bounds()
				lo = max(lo, 0)
				hi = max(min(hi, lo+40), lo)
				sizes[s] = lo
				if k == 1 {
					sizes[s] = hi
				} else if k == 2 {
					sizes[s] = lo + r.Int64N(hi-lo+1)
				}
			}
			return sizes[s], true
		}
		c, ok := drawCall(r, m, env)
		if !ok {
			return nil
		}
		c.Keep = k > 0 && len(sizes) == 0 || k == 3
		if calls = append(calls, c); c.Keep {
			break
		}
	}
	return calls
}

func drawCall(r *rand.Rand, m *native.Method,
	env func(*sym.Symbol) (int64, bool)) (way.Call, bool) {
	c := way.Call{}
	total := codegen.ArenaSize(m)
	for _, p := range m.Outputs {
		if p.Buf != nil {
			total += min(p.Buf.MaxLen, maxRun) * int64(p.Buf.DType.Size())
		}
	}
	for _, p := range m.Inputs {
		if total > maxRun {
			return c, false
		}
		v := tensor.Value{Scalar: p.Value}
		switch {
		case p.Buf != nil:
			t := &tensor.Tensor{DType: p.Type.DType}
			for _, e := range p.Type.Sizes {
				n, err := e.Eval(env)
				if err != nil || n < 0 {
					return c, false
				}
				t.Shape = append(t.Shape, n)
			}
			bytes, err := tensor.Bytes(t.DType, t.Shape)
			if total += bytes; err != nil || total > maxRun {
				return c, false
			}
			for range t.Len() {
				x := float64(r.IntN(17)-8) / 4 // sums of these are exact
				if !t.DType.IsFloat() {
					x = float64(r.IntN(7) - 2)
				}
				if t.DType == ir.Bool {
					x = float64(r.IntN(2))
				}
				t.Data = tensor.Append(t.Data, t.DType, x)
			}
			v = tensor.Value{Tensor: t}
		case p.Value != nil:
		case p.Type.Kind == ir.IntKind:
			n := int64(r.IntN(6) - 1)
			if p.Type.HasExpr {
				var err error
				if n, err = p.Type.Expr.Eval(env); err != nil {
					return c, false
				}
			}
			v.Scalar = ir.Int(n)
		case p.Type.Kind == ir.FloatKind:
			v.Scalar = ir.Float(float64(r.IntN(9)-4) / 2)
		case p.Type.Kind == ir.BoolKind:
			v.Scalar = ir.BoolArg(r.IntN(2) == 0)
		}
		c.Inputs = append(c.Inputs, v)
	}
	return c, true
}

// flush runs the mutants that compiled, all ways, and compares. Then all mutants
// before next have been tried.
func (w *worker) flush(next uint64) {
	if len(w.queue) > 0 {
		w.say("at %d build", next)
		w.runQueue()
	}
	w.queue = nil
	c := w.counts
	w.counts = counts{}
	w.say("done %d %d %d %d %d %d %d %d", next, c.mutants, c.refused, c.compiled, c.same, c.large,
		c.run, c.finds)
}

func (w *worker) runQueue() {
	w.rounds++
	var jobs []way.Job
	for _, s := range w.queue {
		jobs = append(jobs, way.Job{Name: "mutant", File: s.path, Open: s.open, Calls: s.calls})
	}
	opt := compile.Options{Optimize: []string{"speed", "size"}[w.rounds%2], Planner: quick}
	// With optimization gcc takes three times as long; it has some warnings with it
	// alone, so that a quarter of the batches has it.
	flags := toolchain.Sanitizers()
	if w.queue[0].seed%4 == 0 {
		flags = append(flags, "-Og")
	}
	settings := way.Settings{Limit: maxTime, Options: opt}
	ways := []way.Way{
		way.C{
			Settings: settings,
			Target:   toolchain.GCC().With(flags...),
			Env:      []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0"},
		},
		way.Go{Settings: settings},
		way.Reference{Most: maxIterations, Memory: maxMemory / 3},
	}
	if slices.ContainsFunc(w.queue, (*subject).isProgram) {
		ways = append(ways, way.RT{MaxInstructions: w.most,
			Settings: way.Settings{Limit: maxTime, Memory: maxRun}})
	}
	results := make([][]*way.Result, len(ways))
	for i, v := range ways {
		results[i] = make([]*way.Result, len(jobs))
		_, runtime := v.(way.RT)
		if _, eval := v.(way.Reference); !eval && !runtime {
			v.Run(context.Background(), jobs, func(k int, r *way.Result) { results[i][k] = r })
			continue
		}
		for k := range jobs { // one by one, to say which does not come back
			if runtime && !w.queue[k].isProgram() {
				results[i][k] = results[0][k] // an archive is none
				continue
			}
			w.say("at %d %s", w.queue[k].seed, v.Name())
			v.Run(context.Background(), jobs[k:k+1], func(_ int, r *way.Result) {
				results[i][k] = r
			})
		}
	}
	for k, s := range w.queue {
		w.counts.run++
		if err := agree(ways, results, k, s, w.moved(s)); err != nil {
			w.find(s, "%v", err)
		}
	}
}

// agree compares what the ways made of job k. Moved returns what inputs that are slightly
// others give: results may differ by as much. Those of a wild subject may differ by a NaN,
// and integers that are the bits of floats are not compared.
func agree(ways []way.Way, results [][]*way.Result, k int, s *subject,
	moved func() []*way.Result) error {
	first := results[0][k]
	gaveUp := func(call int) bool {
		i := slices.IndexFunc(ways, func(v way.Way) bool { _, ok := v.(way.Reference); return ok })
		r := results[i][k]
		return r != nil && call < len(r.Calls) && endless(r.Calls[call].Err)
	}
	for i, v := range ways {
		r := results[i][k]
		if r == nil {
			return fmt.Errorf("%s gives no result", v.Name())
		}
		if memoryError(r.Err) {
			continue // the runtime's memory is planned by the file, the code's by etgen
		}
		if r.Err != nil {
			return fmt.Errorf("%s: %w", v.Name(), r.Err)
		}
		limited := false
		for n := range r.Calls {
			a, b := first.Calls[n], r.Calls[n]
			// The runtime repeats a loop that never ends; compiled code leaves one without
			// effect out.
			if errors.Is(b.Err, rt.ErrNotSupported) || errors.Is(b.Err, eval.ErrStopped) ||
				errors.Is(b.Err, rt.ErrInstructionLimit) || memoryError(b.Err) ||
				limited && b.Err != nil {
				limited = true // one way's own limit, and no state for the next call
				continue
			}
			// What the interpreter gives up may take the others just as long as they may.
			if endless(a.Err) && endless(b.Err) || (endless(a.Err) || endless(b.Err)) && gaveUp(n) {
				continue
			}
			if (a.Err == nil) != (b.Err == nil) {
				return fmt.Errorf("call %d: %s: %v; %s: %v", n, ways[0].Name(), a.Err,
					v.Name(), b.Err)
			}
			if a.Err != nil {
				for _, err := range []error{a.Err, b.Err} {
					if !refusal(err) {
						return fmt.Errorf("call %d: %s: %w", n, v.Name(), err)
					}
				}
				continue
			}
			tol := compare.Tolerance{Terms: 16, Overflow: true}
			for _, t := range r.Terms {
				tol.Terms = max(tol.Terms, t)
			}
			for o := range a.Outputs {
				miss := compare.Values(b.Outputs[o], a.Outputs[o], tol)
				if s.wild && miss != nil && (miss.Got == "NaN" || miss.Want == "NaN") {
					continue
				}
				if t := b.Outputs[o].Tensor; s.bits && t != nil && !t.DType.IsFloat() {
					continue
				}
				if miss != nil && miss.Problem == "" {
					wide := tol
					if wide.Slack = slack(moved(), n, o); math.IsInf(wide.Slack, 1) {
						continue
					}
					miss = compare.Values(b.Outputs[o], a.Outputs[o], wide)
				}
				if miss != nil {
					return fmt.Errorf("call %d output %d: %s and %s differ: %v", n, o,
						ways[0].Name(), v.Name(), miss)
				}
			}
			for o, t := range a.Mutated {
				if t == nil || b.Mutated[o] == nil {
					continue
				}
				miss := compare.Tensors(b.Mutated[o], t, tol)
				if miss != nil && !(s.wild && (miss.Got == "NaN" || miss.Want == "NaN")) {
					return fmt.Errorf("call %d input %d after it: %s and %s differ: %v", n, o,
						ways[0].Name(), v.Name(), miss)
				}
			}
		}
	}
	return nil
}

// endless reports whether a call was ended because it took too long.
func endless(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "does not come back") ||
		errors.Is(err, eval.ErrStopped))
}

// memoryError reports whether a call would take too much memory.
func memoryError(err error) bool {
	_, ok := errors.AsType[*way.MemoryError](err)
	return ok
}

// refusal reports whether a call's error is the model's answer, no crash.
func refusal(err error) bool {
	var crash interface{ Unwrap() error }
	text := err.Error()
	return !strings.Contains(text, "crashed") && !strings.Contains(text, "panic") &&
		!strings.Contains(text, "internal error") &&
		!strings.Contains(text, "does not come back") && !(errors.As(err, &crash) &&
		strings.Contains(text, "signal"))
}
