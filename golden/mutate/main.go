// Command mutate changes .pt2 archives, or with -pte ExecuTorch programs, at random,
// with their structure in mind, and sees what etgen makes of them. A mutant is refused with an
// error for users, or it
// compiles to C and Go; then both run, the C under sanitizers with buffers of
// exactly the documented sizes, and agree with each other, with the interpreter and
// with rt.
// Anything else is a find: a panic, an internal error, a sanitizer's report, a
// compiler's warning, a call that does not come back, too much memory, results
// that differ.
//
// A mutant follows from its seed and the list of sources, so that a range of seeds
// can be tried in parts: -first 40000 goes on where a run ended, and
// -first 266 -show > 266.pt2 makes the file of a find again.
//
// Files that are named are tried as they are. A find whose file must compile is kept
// in testdata, one that must be refused in golden/refused.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	d := driver{out: os.Stdout}
	flag.Uint64Var(&d.first, "first", 0, "the first seed")
	flag.Uint64Var(&d.count, "count", 1000, "how many mutants")
	flag.IntVar(&d.workers, "workers", runtime.NumCPU(), "processes at the same time")
	flag.StringVar(&d.finds, "finds", "", "the folder that files with a find are written to")
	roots := flag.String("from", "golden/cases", "folders with models, separated by commas")
	program := flag.Bool("pte", false,
		"mutate ExecuTorch programs: .pte files, and what etgen writes of archives")
	show := flag.Bool("show", false,
		"write the mutant of the first seed to standard output, and try nothing")
	w := flag.String("worker", "", "internal: FIRST,LAST,SKIP…: try these mutants")
	flag.Parse()
	if flag.NArg() > 0 {
		w := newWorker(os.Stdout)
		if err := w.tryFiles(flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(2)
		}
		if fmt.Println(&w.counts); w.counts.finds > 0 {
			os.Exit(1)
		}
		return
	}
	var err error
	if d.sources, err = sources(strings.Split(*roots, ","), *program); err != nil ||
		len(d.sources) == 0 {
		fmt.Fprintln(os.Stderr, "mutate: no models:", err)
		os.Exit(2)
	}
	if *w != "" {
		runWorker(*w, d.sources, d.finds, *program, os.Stdout)
		return
	}
	if *show {
		s, err := (&worker{sources: d.sources, program: *program, dir: os.TempDir()}).make(d.first)
		if err == nil && s != nil {
			_, err = os.Stdout.Write(s.file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	d.command = []string{self, "-from", *roots, "-finds", d.finds, fmt.Sprintf("-pte=%v", *program),
		"-worker"}
	if d.run(); d.total.finds > 0 {
		os.Exit(1)
	}
}

// maxSource is the bytes of a model that is mutated: small ones are tried faster.
const maxSource = 40 << 10

// extension is that of mutants' files.
func extension(program bool) string {
	if program {
		return ".pte"
	}
	return ".pt2"
}

// sources returns the models below roots, sorted, if program is true ExecuTorch
// programs too. A root that is not there is left out.
func sources(roots []string, program bool) ([]string, error) {
	var found []string
	for _, root := range roots {
		for _, depth := range []string{"*", "*/*", "*/*/*"} {
			files, err := filepath.Glob(filepath.Join(root, depth, "*.pt2"))
			if err == nil && program {
				var programs []string
				programs, err = filepath.Glob(filepath.Join(root, depth, "*.pte"))
				files = append(files, programs...)
			}
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				if info, err := os.Stat(f); err == nil && info.Size() <= maxSource {
					found = append(found, f)
				}
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// runWorker is a worker's whole life.
func runWorker(spec string, sources []string, finds string, program bool, out io.Writer) {
	w := newWorker(out)
	w.sources, w.finds, w.program = sources, finds, program
	var first, last uint64
	for i, word := range strings.Split(spec, ",") {
		var n uint64
		fmt.Sscan(word, &n)
		switch i {
		case 0:
			first = n
		case 1:
			last = n
		default:
			w.skip[n] = true
		}
	}
	w.try(first, last)
}

// driver hands ranges of seeds to workers, and starts a worker that crashes or hangs
// again behind the mutant that it was at.
type driver struct {
	first, count uint64
	workers      int
	finds        string
	sources      []string
	command      []string // of a worker, without its range
	out          io.Writer

	mu    sync.Mutex
	total counts
	next  uint64
	began time.Time
}

// chunk is the seeds of one worker.
const chunk = 1000

func (d *driver) run() {
	d.began = time.Now()
	var wait sync.WaitGroup
	for range max(d.workers, 1) {
		wait.Go(func() {
			for {
				d.mu.Lock()
				from := d.first + d.next
				to := min(from+chunk, d.first+d.count)
				d.next = to - d.first
				d.mu.Unlock()
				if from >= to {
					return
				}
				d.tryRange(from, to)
				d.mu.Lock()
				fmt.Fprintf(d.out, "to seed %d, %v: %v\n", to,
					time.Since(d.began).Round(time.Second), &d.total)
				d.mu.Unlock()
			}
		})
	}
	wait.Wait()
	fmt.Fprintln(d.out, &d.total)
}

// tryRange tries a range of seeds, with as many processes as it takes.
func (d *driver) tryRange(from, to uint64) {
	var skip []uint64
	for from < to {
		spec := fmt.Sprintf("%d,%d", from, to)
		for _, s := range skip {
			spec += fmt.Sprintf(",%d", s)
		}
		at, doing, why := d.process(spec, &from)
		if why == "" {
			return
		}
		d.mu.Lock()
		fmt.Fprintf(d.out, "find %d (%s) %s\n", at, doing, why)
		d.total.finds++
		d.mu.Unlock()
		if doing == "build" || at < from || at >= to {
			from = at // the batch is lost
			continue
		}
		skip = append(skip, at)
	}
}

// process runs a worker; from becomes the first seed that is not done. If it ends
// badly it says at which seed, doing what, and why.
func (d *driver) process(spec string, from *uint64) (at uint64, doing, why string) {
	cmd := exec.Command(d.command[0], append(slices.Clone(d.command[1:]), spec)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return *from, "build", err.Error()
	}
	timer := time.AfterFunc(time.Hour, func() { why = "does not come back"; cmd.Process.Kill() })
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		var c counts
		var seed uint64
		timer.Reset(time.Minute)
		switch word, _, _ := strings.Cut(line, " "); word {
		case "at":
			fmt.Sscanf(line, "at %d %s", &at, &doing)
			if doing == "build" {
				timer.Reset(20 * time.Minute)
			}
		case "done":
			fmt.Sscanf(line, "done %d %d %d %d %d %d %d %d", &seed, &c.mutants, &c.refused,
				&c.compiled, &c.same, &c.large, &c.run, &c.finds)
			*from = seed
			d.mu.Lock()
			d.total.add(c)
			d.mu.Unlock()
		case "memory":
			why = "takes too much memory"
		default:
			d.mu.Lock()
			fmt.Fprintln(d.out, line)
			d.mu.Unlock()
		}
	}
	err = cmd.Wait()
	timer.Stop()
	if err != nil && why == "" {
		why = fmt.Sprintf("%v: %.300s", err, stderr.String())
	}
	return at, doing, why
}
