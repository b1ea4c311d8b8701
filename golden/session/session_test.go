package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

func i32(n int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func request(model int, x int32, reset bool) *Request {
	return &Request{Model: model, Reset: reset, Repeat: 1, Args: []Arg{
		{Mode: In, Data: i32(x)}, {Mode: InOut, Data: i32(x)}, {Mode: Out, Len: 4}}}
}

func cProgram(t *testing.T) []string {
	dir := t.TempDir()
	runner, err := WriteC(dir)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "models")
	if err := toolchain.GCC().Build(t.Context(), dir, exe, runner, "testdata/models.c"); err !=
		nil {
		t.Fatal(err)
	}
	return []string{exe}
}

func goProgram(t *testing.T) []string {
	dir := t.TempDir()
	if err := WriteGo(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/models.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"models.go": text,
		"go.mod": []byte("module models\n\ngo 1.24\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "models")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return []string{exe}
}

// A crash and a hang lose one request each; state carries over until then.
func TestRun(t *testing.T) {
	for name, build := range map[string]func(*testing.T) []string{"c": cProgram, "go": goProgram} {
		t.Run(name, func(t *testing.T) {
			p := Program{Command: build(t), Limit: tier.Of[time.Duration](1, 2, 2) * time.Second}
			requests := []*Request{
				request(0, 3, true), request(0, 4, false), request(0, 5, true),
				request(1, 0, true), request(0, 6, true), request(2, 0, true), request(0, -1, true),
				{Model: 0, Reset: true, Repeat: 3, Args: request(0, 10, true).Args},
			}
			var got []string
			i := -1
			p.Run(context.Background(), func() *Request {
				if i++; i < len(requests) {
					return requests[i]
				}
				return nil
			}, func(a *Answer, err error) {
				if err != nil {
					var crash *CrashError
					if !errors.As(err, &crash) {
						t.Error(err)
					}
					got = append(got, err.Error())
					return
				}
				var out []int32
				for _, o := range a.Outputs {
					out = append(out, int32(binary.LittleEndian.Uint32(o)))
				}
				if len(a.Times) != max(requests[i].Repeat, 1) || slices.Min(a.Times) < 7 {
					t.Errorf("took %v", a.Times)
				}
				failed := a.Status != 0
				got = append(got, fmt.Sprint(failed, out))
			})
			want := []string{"false [4 3]", "false [5 7]", "false [6 5]", "crashed", "false [7 6]",
				"hangs", "true [0 -1]", "false [11 30]"}
			for i, g := range got {
				if strings.HasPrefix(g, "crashed") {
					got[i] = "crashed"
				}
				if strings.HasPrefix(g, "the call does not come back") {
					got[i] = "hangs"
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRunCannotStart(t *testing.T) {
	p := Program{Command: []string{filepath.Join(t.TempDir(), "absent")}}
	n := 0
	p.Run(t.Context(), func() *Request {
		if n == 2 {
			return nil
		}
		return request(0, 1, true)
	}, func(_ *Answer, err error) {
		n++
		if err == nil {
			t.Error("no error")
		}
	})
}
