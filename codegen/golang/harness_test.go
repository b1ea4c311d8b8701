package golang

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// kernelCase is a function with arguments to run it on.
type kernelCase struct {
	name    string
	fn      *loop.Func
	bufs    [][]byte
	syms    []int64
	scalars []expr.Value
}

// clone returns copies of the buffers.
func (c *kernelCase) clone() [][]byte {
	out := make([][]byte, len(c.bufs))
	for i, b := range c.bufs {
		out[i] = bytes.Clone(b)
	}
	return out
}

// runKernels prints the functions of cases as one Go program, runs it and
// returns the buffers as they are afterwards.
func runKernels(t *testing.T, cases []*kernelCase) [][][]byte {
	t.Helper()
	u := newUnit("main")
	u.scope.Reserve("main", "read", "write", "in", "out", "data", "element", "view", "newArena")
	var kernels, calls strings.Builder
	for i, c := range cases {
		name := u.scope.Take(fmt.Sprintf("kernel%dx", i))
		kernels.WriteString(func() (text string) {
			var err error
			defer func() {
				if err != nil {
					t.Fatalf("%s: %v\n%s", c.name, err, c.fn)
				}
			}()
			defer must.Catch(&err)
			return u.loopKernel(name, foreign.Text{}, c.fn) + "\n"
		}())
		var args []string
		for k, b := range c.fn.Bufs {
			args = append(args, fmt.Sprintf("view[%s](b[%d], 0, %d)", goType(b.DType), k,
				len(c.bufs[k])/b.DType.Size()))
		}
		for _, s := range c.syms {
			args = append(args, fmt.Sprint(s))
		}
		for k, s := range c.scalars {
			args = append(args, typedLiteral(&expr.Expr{Op: expr.OpConst,
				DType: c.fn.Scalars[k].DType, Int: s.I, Float: s.F}))
		}
		fmt.Fprintf(&calls, "func() {\nb := read()\n%s(%s)\nwrite(b)\n}()\n", name,
			strings.Join(args, ", "))
	}
	support := u.support("")
	files := map[string]string{"kernels.go": kernels.String(),
		"memory.go": ourCode("view", "newArena")}
	dir := t.TempDir()
	for _, f := range support {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), u.file("", text))
	}
	write(t, filepath.Join(dir, "main.go"), []byte(`package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
)

var in, out = bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)

func read() [][]byte {
	var n uint32
	binary.Read(in, binary.LittleEndian, &n)
	b := make([][]byte, n)
	for i := range b {
		binary.Read(in, binary.LittleEndian, &n)
		b[i] = newArena(int(n))
		io.ReadFull(in, b[i])
	}
	return b
}

func write(b [][]byte) {
	for _, x := range b {
		out.Write(x)
	}
}

func main() {
	defer out.Flush()
`+calls.String()+"}\n"))
	write(t, filepath.Join(dir, "go.mod"), []byte("module test\n\ngo 1.26\n"))
	var input bytes.Buffer
	for _, c := range cases {
		binary.Write(&input, binary.LittleEndian, uint32(len(c.bufs)))
		for _, b := range c.bufs {
			binary.Write(&input, binary.LittleEndian, uint32(len(b)))
			input.Write(b)
		}
	}
	output := command(t, dir, input.Bytes(), "go", "run", ".")
	var results [][][]byte
	for _, c := range cases {
		var bufs [][]byte
		for _, b := range c.bufs {
			if len(output) < len(b) {
				t.Fatalf("%s: the output ends early", c.name)
			}
			bufs = append(bufs, output[:len(b)])
			output = output[len(b):]
		}
		results = append(results, bufs)
	}
	return results
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// command runs a program in dir and returns what it writes.
func command(t *testing.T, dir string, input []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOPROXY=off")
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, tail(stderr.String()), tail(stdout.String()))
	}
	return stdout.Bytes()
}

func tail(s string) string {
	if len(s) > 4000 {
		s = s[:4000]
	}
	return s
}

// firstDifference returns the first element in which two buffers differ, -1 if
// they are equal. NaNs are equal.
func firstDifference(d ir.DType, got, want []byte) int {
	n := d.Size()
	for i := 0; i < len(want); i += n {
		if !bytes.Equal(got[i:i+n], want[i:i+n]) && !(isNaN(d, got[i:i+n]) &&
			isNaN(d, want[i:i+n])) {
			return i / n
		}
	}
	return -1
}

func isNaN(d ir.DType, b []byte) bool {
	switch d {
	case ir.Float32:
		return math.Float32bits(0) != binary.LittleEndian.Uint32(b) &&
			math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case ir.Float64:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case ir.Float16:
		return binary.LittleEndian.Uint16(b)&0x7fff > 0x7c00
	case ir.BFloat16:
		return binary.LittleEndian.Uint16(b)&0x7fff > 0x7f80
	}
	return false
}
