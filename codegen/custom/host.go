package custom

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/seq"
)

// Host is a process with kernels in Go: etgen cannot link them, so it builds a program of them and
// has that run their calls. What a kernel does wrong, a panic or a write outside of its operands,
// is an error of the call.
type Host struct {
	kernels *Kernels
	cmd     *exec.Cmd
	in      io.WriteCloser
	enc     *json.Encoder
	dec     *json.Decoder
	mutex   sync.Mutex
	remove  func()
}

// Value is an argument of a call, or what it leaves in one.
type Value struct {
	None   bool
	Data   []byte // of a tensor, little-endian
	Sizes  []int64
	Elem   string // the type in Go of a tensor's elements
	Int    int64
	Bits   uint64 // of a float64
	Text   string
	Values []Value // a list
}

// request is a call of a kernel, or of what tells the sizes of its results. The answer has the
// values that the kernel may have written.
type request struct {
	Kernel int
	Shape  bool
	Args   []Value
}

type answer struct {
	Written []Value // parallel to the arguments; of sizes for each result
	Err     string
}

// Start builds the program of k's kernels in Go and starts it. It ends with ctx, or by Close.
func (k *Kernels) Start(ctx context.Context) (_ *Host, err error) {
	dir, remove, err := interrupt.TempDir("etgen-kernels-")
	if err != nil {
		return nil, err
	}
	h := &Host{kernels: k, remove: remove}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	files := map[string]string{"go.mod": k.GoMod("kernels"), "main.go": hostText(k.Go, k.shapes)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	exe, temp := filepath.Join(dir, "kernels.exe"), filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o777); err != nil {
		return nil, err
	}
	build := interrupt.Command(ctx, temp, "go", "build", "-trimpath", "-o", exe, ".")
	build.Dir = dir
	build.Env = append(build.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the kernels of custom operators do not build: %w\n%s", err, out)
	}
	h.cmd = exec.CommandContext(ctx, exe)
	h.cmd.Stderr = os.Stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.enc, h.dec = json.NewEncoder(h.in), json.NewDecoder(bufio.NewReader(out))
	return h, h.cmd.Start()
}

// Close ends the process.
func (h *Host) Close() error {
	defer h.remove()
	h.in.Close()
	return h.cmd.Wait()
}

// GoMod is the go.mod of a module called name that uses the kernels' packages.
func (k *Kernels) GoMod(name string) string {
	mod := "module " + name + "\n\ngo 1.24\n"
	if k == nil {
		return mod
	}
	seen := map[string]bool{}
	for _, m := range k.Modules {
		if !seen[m.Path] {
			mod += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", m.Path, strconv.Quote(m.Dir))
		}
		seen[m.Path] = true
	}
	return mod
}

// Call runs the kernel of an operator. Args are its arguments, then the tensors for its results. It
// sets the elements of those that the kernel writes.
func (h *Host) Call(op string, args []Value) error {
	number := slices.Index(h.kernels.Go, h.kernels.Function(op))
	if number < 0 {
		return fmt.Errorf("custom operator %s has no kernel in Go", op)
	}
	f := h.kernels.Go[number]
	for i, a := range args[:min(len(args), len(f.Params))] {
		if p := f.Params[i]; a.Elem != "" && p.Elem != "" && a.Elem != p.Elem {
			return fmt.Errorf("custom operator %s: kernel %s (%s) takes %s of %s, and the model gives it %s",
				op, f.Name, f.Place, p.Name, p.Elem, a.Elem)
		}
	}
	a, err := h.ask(op, request{Kernel: number, Args: args})
	if err != nil {
		return err
	}
	schema := f.Schema
	for i := range args {
		if i >= len(schema.Args) || schema.Args[i].Type.Mutates() {
			if i >= len(a.Written) || len(a.Written[i].Data) != len(args[i].Data) {
				return fmt.Errorf("custom operator %s: the kernels' process gave no result", op)
			}
			copy(args[i].Data, a.Written[i].Data)
		}
	}
	return nil
}

// Sizes returns the sizes of an operator's results.
func (h *Host) Sizes(op string, args []Value) ([][]int64, error) {
	f := h.kernels.Function(op)
	shape, number := h.kernels.shape(f)
	if shape == nil {
		return nil, fmt.Errorf("custom operator %s: sizes are dynamic: a function with the comment //%s "+
			"has to tell those of results", op, ShapeMark)
	}
	a, err := h.ask(op, request{Kernel: number, Shape: true, Args: args})
	if err != nil {
		return nil, err
	}
	sizes := seq.Map(a.Written, func(v Value) []int64 { return v.Sizes })
	return sizes, nil
}

// ask has the process answer a request.
func (h *Host) ask(op string, r request) (a answer, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err = h.enc.Encode(r); err == nil {
		err = h.dec.Decode(&a)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("custom operator %s: the kernels' process has ended: %w", op, err)
	case a.Err != "":
		err = errors.New("custom operator " + op + ": " + a.Err)
	}
	return a, err
}

// hostText is the program of kernels.
func hostText(list, shapes []*Function) string {
	var imports, cases, sizes strings.Builder
	names := map[string]string{}
	for i, f := range list {
		if names[f.Path] == "" {
			names[f.Path] = fmt.Sprintf("pkg%d", len(names))
			fmt.Fprintf(&imports, "\t%s %q\n", names[f.Path], f.Path)
		}
		fmt.Fprintf(&cases, "\tcase %d:\n", i)
		pkg := names[f.Path]
		var args []string
		for k, p := range f.Params {
			name := fmt.Sprintf("a%d", k)
			hostArgument(&cases, name, fmt.Sprintf("r.Args[%d]", k), pkg, f.Type(k), p)
			args = append(args, name)
		}
		call := fmt.Sprintf("%s.%s(%s)", pkg, f.Name, strings.Join(args, ", "))
		if f.Err {
			call = "if err := " + call + "; err != nil {\n\t\t\treturn nil, err\n\t\t}"
		}
		fmt.Fprintf(&cases, "\t\t%s\n\t\twritten = make([]Value, len(r.Args))\n", call)
		for k := range f.Params {
			if !f.Type(k).Mutates() {
				continue
			}
			data := fmt.Sprintf("d%d", k)
			fmt.Fprintf(&cases, "\t\twritten[%d].Data = bytesOf(%s)\n", k, data)
		}
	}
	for i, f := range shapes {
		pkg := names[f.Path]
		fmt.Fprintf(&sizes, "\tcase %d:\n", i)
		var args, results []string
		for k, p := range f.Params {
			name, value := fmt.Sprintf("a%d", k), fmt.Sprintf("r.Args[%d]", k)
			if f.Schema.Args[k].Type.Base().Name == "Tensor" {
				fmt.Fprintf(&sizes, "\t\t%s := sizes(%s)\n", name, value)
			} else {
				hostArgument(&sizes, name, value, pkg, f.Schema.Args[k].Type, p)
			}
			args = append(args, name)
		}
		for k := range f.Schema.Returns {
			results = append(results, fmt.Sprintf("s%d", k))
		}
		list := strings.Join(results, ", ")
		fmt.Fprintf(&sizes, "\t\t%s := %s.%s(%s)\n\t\treturn shaped(%s), nil\n", list, pkg, f.Name,
			strings.Join(args, ", "), list)
	}
	return fmt.Sprintf(hostProgram, imports.String(), cases.String(), sizes.String())
}

// hostArgument declares what a kernel gets for a value.
func hostArgument(w *strings.Builder, name, value, pkg string, t *aten.Type, p Param) {
	switch {
	case t.IsList() && p.Elem != "":
		typ := p.Type
		if p.Struct != "" {
			typ = "[]" + pkg + "." + p.Struct
		}
		fmt.Fprintf(w, "\t\tvar %s %s\n\t\tfor _, v := range %s.Values {\n", name, typ, value)
		hostTensor(w, "x", "y", "v", pkg, p)
		fmt.Fprintf(w, "\t\t\t_ = y\n\t\t\t%s = append(%s, x)\n\t\t}\n", name, name)
	case t.IsList():
		elem := strings.TrimPrefix(p.Type, "[]")
		fmt.Fprintf(w,
			"\t\tvar %s %s\n\t\tfor _, v := range %s.Values {\n\t\t\t%s = append(%s, %s)\n\t\t}\n",
			name, p.Type, value, name, name, hostNumber("v", elem))
	case p.Elem != "":
		data := "d" + strings.TrimPrefix(name, "a")
		hostTensor(w, name, data, value, pkg, p)
		fmt.Fprintf(w, "\t\t_ = %s\n", data)
	case strings.HasPrefix(p.Type, "*"):
		fmt.Fprintf(w, "\t\tvar %s %s\n\t\tif !%s.None {\n\t\t\tx := %s\n\t\t\t%s = &x\n\t\t}\n", name,
			p.Type, value, hostNumber(value, p.Type[1:]), name)
	default:
		fmt.Fprintf(w, "\t\t%s := %s\n", name, hostNumber(value, p.Type))
	}
}

// hostTensor declares a tensor as a kernel takes it, and its elements.
func hostTensor(w *strings.Builder, name, data, value, pkg string, p Param) {
	fmt.Fprintf(w, "\t\t%s := elements[%s](%s)\n", data, p.Elem, value)
	if p.Struct == "" {
		fmt.Fprintf(w, "\t\t%s := %s\n", name, data)
		return
	}
	fmt.Fprintf(w, "\t\t%s := %s.%s{Data: %s}\n", name, pkg, p.Struct, data)
	if p.HasSizes {
		fmt.Fprintf(w, "\t\t%s.Sizes = sizes(%s)\n", name, value)
	}
	if p.HasStrides {
		fmt.Fprintf(w, "\t\t%s.Strides = strides(%s)\n", name, value)
	}
}

// hostNumber is a number or string of type typ.
func hostNumber(value, typ string) string {
	switch typ {
	case "float64":
		return value + ".float()"
	case "string":
		return value + ".Text"
	case "bool":
		return value + ".Int != 0"
	}
	return typ + "(" + value + ".Int)"
}

// hostProgram is the program: imports, then a case for each kernel.
const hostProgram = `// Kernels of custom operators, for etgen.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"

%s)

type Value struct {
	None   bool
	Data   []byte
	Sizes  []int64
	Int    int64
	Bits   uint64
	Text   string
	Values []Value
}

type Request struct {
	Kernel int
	Shape  bool
	Args   []Value
}

type Answer struct {
	Written []Value
	Err     string
}

func main() {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // kernels may print
	for {
		var r Request
		if in.Decode(&r) != nil {
			return
		}
		var a Answer
		written, err := call(r)
		if a.Written = written; err != nil {
			a.Err = err.Error()
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

func (v Value) float() float64 { return math.Float64frombits(v.Bits) }

// elements makes the elements of a tensor anew, with no room behind them.
func elements[T any](v Value) []T {
	if v.None {
		return nil
	}
	var one T
	s := make([]T, len(v.Data)/binary.Size(one))
	if err := binary.Read(bytes.NewReader(v.Data), binary.LittleEndian, s); err != nil {
		panic(err)
	}
	return s
}

func bytesOf(s any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, s); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func sizes(v Value) []int {
	s := make([]int, len(v.Sizes))
	for i, n := range v.Sizes {
		s[i] = int(n)
	}
	return s
}

func strides(v Value) []int {
	s, step := sizes(v), 1
	for i := len(s) - 1; i >= 0; i-- {
		s[i], step = step, step*max(s[i], 1)
	}
	return s
}

func call(r Request) (written []Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its kernel panicked: %%v", p)
		}
	}()
	if r.Shape {
		return shapes(r)
	}
	switch r.Kernel {
%s	}
	return written, nil
}

func shapes(r Request) ([]Value, error) {
	switch r.Kernel {
%s	}
	return nil, nil
}

func shaped(sizes ...[]int) []Value {
	values := make([]Value, len(sizes))
	for i, s := range sizes {
		for _, n := range s {
			values[i].Sizes = append(values[i].Sizes, int64(n))
		}
	}
	return values
}
`
