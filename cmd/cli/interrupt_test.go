//go:build unix

package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/tier"
)

// promised is within what time an interrupted command is gone, and noise by how
// many times a machine that does other things may be late.
const (
	promised = 200 * time.Millisecond
	noise    = 10
)

// Each command that is sent SIGINT or SIGTERM at any moment is gone in time, with
// the exit code of the signal, and leaves the output folder and $TMPDIR as they
// were, and no process; or it was through before, and all is there.
func TestInterruptedAtAnyMoment(t *testing.T) {
	tier.Needs(t, tier.Normal)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What is run under nohup, or behind in a script, ignores signals, and so do its
	// children. Signals that are caught here end the children.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(caught) })
	model := largeModel(t)
	program := compiledModel(t, self, model)
	rounds := tier.Of(0, 2, 8)
	for _, args := range []string{
		"MODEL --lang=c -o OUT",
		"MODEL --lang=go -o OUT",
		"MODEL --lang=pte -o OUT",
		"PROGRAM --lang=c -o OUT",
		"run MODEL -i INPUT -o OUT --via=c",
		"run MODEL -i INPUT -o OUT --via=go",
		"run MODEL -i INPUT -o OUT --via=rt",
		"run MODEL -i INPUT -o OUT --via=rt-optimize",
		"run MODEL -i INPUT -o OUT --via=eval",
		"bench MODEL --via=c,go,rt --for=100ms --svg=OUT/kernels.svg",
		"inspect MODEL --svg=OUT/memory.svg",
		"inspect PROGRAM --svg=OUT/memory.svg",
		"lower MODEL --dump-after=all",
		"registry PROGRAM -o OUT/kernels_gen.go",
		"golden record MODEL -o OUT --via=c",
		"golden record MODEL -o OUT --via=eval",
		"golden check ../../golden/cases/lenet ../../golden/cases/linear --via=c,go,rt",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			whole := 4 * time.Second // of a run; the moments are drawn from it
			for round := range rounds {
				for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
					// More often than not early: the first stages are short.
					after := time.Duration(float64(whole) * rand.Float64() * rand.Float64())
					took, through := interrupted(t, self, args, model, program, sig, after)
					if t.Logf("%v after %v: gone in %v", sig, after.Round(time.Millisecond),
						took); through > 0 {
						whole = min(whole, through)
					}
					if took > promised*noise {
						t.Errorf("round %d: %v after %v: gone after %v, want %v", round, sig, after,
							took, promised)
					}
				}
			}
		})
	}
}

// interrupted runs a command, sends it the signal, and returns how long it took to
// go, or how long the command took if it was through.
func interrupted(t *testing.T, self, args, model, program string, sig syscall.Signal,
	after time.Duration) (took, through time.Duration) {
	t.Helper()
	base := t.TempDir()
	out, temp := filepath.Join(base, "out"), filepath.Join(base, "tmp")
	old := rand.IntN(2) == 0
	if old { // a folder with somebody's file, else none
		os.Mkdir(out, 0o777)
		if !strings.HasPrefix(args, "golden record") {
			os.WriteFile(filepath.Join(out, "mine.txt"), []byte("mine"), 0o666)
		}
	}
	os.Mkdir(temp, 0o777)
	before := tree(base)
	args = strings.NewReplacer("MODEL", model, "PROGRAM", program, "OUT", out, "INPUT",
		filepath.Join(filepath.Dir(model), "input.bin")).Replace(args)
	cmd := exec.Command(self, strings.Fields(args)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	mark := "ETGEN_TEST_RUN=" + base
	cmd.Env = append(os.Environ(), "ETGEN_TEST_MAIN=1", "TMPDIR="+temp, mark)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("etgen %s: %v\n%s", args, err, stderr.String())
		}
		through = time.Since(start)
		if len(tree(temp)) > 0 {
			t.Errorf("etgen %s leaves %v", args, tree(temp))
		}
		return 0, through
	case <-time.After(after):
	}
	cmd.Process.Signal(sig)
	sent := time.Now()
	err := <-done
	took = time.Since(sent)
	now := tree(base)
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil: // it was through
		now = slices.DeleteFunc(now, func(s string) bool { return strings.HasPrefix(s, "out") })
		before = slices.DeleteFunc(before, func(s string) bool {
			return strings.HasPrefix(s, "out")
		})
	case ok && exit.ExitCode() == 128+int(sig):
		if text := stderr.String(); text != "etgen: interrupted\n" {
			t.Errorf("etgen %s: %v after %v: it says %q", args, sig, after, text)
		}
	case ok && exit.Sys().(syscall.WaitStatus).Signal() == sig: // before main began
	default:
		t.Errorf("etgen %s: %v after %v: %v, want exit code %d\n%s", args, sig, after, err,
			128+int(sig), stderr.String())
	}
	if !slices.Equal(before, now) {
		t.Errorf("etgen %s: %v after %v leaves\n%s\nwhat was there:\n%s", args, sig, after,
			strings.Join(now, "\n"), strings.Join(before, "\n"))
	}
	for range 20 { // killed processes go when somebody has looked at them
		if left := processesWith(mark); len(left) == 0 {
			return took, 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("etgen %s: %v after %v leaves the processes %v", args, sig, after, processesWith(mark))
	return took, 0
}

// tree lists what is in a folder.
func tree(dir string) []string {
	var all []string
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." {
			all = append(all, rel)
		}
		return nil
	})
	return all
}

// processesWith returns the processes with mark in their environment. Those that
// have ended and wait for their parent have none.
func processesWith(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	return slices.DeleteFunc(files, func(name string) bool {
		env, err := os.ReadFile(name)
		return err != nil || !bytes.Contains(env, []byte(mark))
	})
}

// compiledModel is the model as an ExecuTorch program.
func compiledModel(t *testing.T, self, model string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(self, model, "--lang=pte", "-o", dir)
	cmd.Env = append(os.Environ(), "ETGEN_TEST_MAIN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "model.pte")
}

// largeModel makes a model that every stage takes a while for: linear layers of one
// weight each, with functions between them. Its input lies beside it.
func largeModel(t *testing.T) string {
	t.Helper()
	const layers, width = 150, 96
	functions := []string{"tanh", "sin", "sigmoid", "gelu", "erf", "cos"}
	dims := func(sizes ...int) string {
		var list []string
		for _, n := range sizes {
			list = append(list, fmt.Sprintf(`{"as_int": %d}`, n))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	meta := func(rows int) string {
		return fmt.Sprintf(
			`{"dtype": 7, "sizes": %s, "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": %s, "storage_offset": {"as_int": 0}, "layout": 7}`,
			dims(rows, width), dims(width, 1))
	}
	tensor := func(name string) string { return fmt.Sprintf(`{"as_tensor": {"name": %q}}`, name) }
	var nodes, values, inputs, specs, configs []string
	node := func(op, out string, args ...string) {
		var list []string
		for i := 0; i < len(args); i += 2 {
			list = append(list, fmt.Sprintf(`{"name": %q, "arg": %s, "kind": 1}`, args[i],
				tensor(args[i+1])))
		}
		nodes = append(nodes,
			fmt.Sprintf(
				`{"target": "torch.ops.aten.%s.default", "inputs": [%s], "outputs": [%s], "metadata": {}, "is_hop_single_tensor_return": null, "name": %q}`,
				op, strings.Join(list, ", "), tensor(out), out))
		values = append(values, fmt.Sprintf("%q: %s", out, meta(8)))
	}
	members := []member{}
	random := rand.New(rand.NewPCG(1, 1))
	x := "x"
	for i := range layers {
		name := fmt.Sprintf("w%d", i)
		inputs = append(inputs, tensor("p_"+name))
		values = append(values, fmt.Sprintf("%q: %s", "p_"+name, meta(width)))
		specs = append(specs,
			fmt.Sprintf(`{"parameter": {"arg": {"name": %q}, "parameter_name": %q}}`,
				"p_"+name, name))
		configs = append(configs,
			fmt.Sprintf(
				`%q: {"path_name": "weight_%d", "is_param": true, "use_pickle": false, "tensor_meta": %s}`,
				name, i, meta(width)))
		var data []byte
		for range width * width {
			data = binary.LittleEndian.AppendUint32(data,
				math.Float32bits(float32(random.NormFloat64()/10)))
		}
		members = append(members, member{name: fmt.Sprintf("model/data/weights/weight_%d", i),
			data: data})
		node("linear", fmt.Sprintf("l%d", i), "input", x, "weight", "p_"+name)
		for k, f := range []string{functions[i%len(functions)],
			functions[(i/6+1+i)%len(functions)]} {
			arg := fmt.Sprintf("l%d", i)
			if k > 0 {
				arg = fmt.Sprintf("f%d_0", i)
			}
			node(f, fmt.Sprintf("f%d_%d", i, k), "self", arg)
		}
		x = fmt.Sprintf("f%d_1", i)
	}
	inputs = append(inputs, tensor("x"))
	values = append(values, `"x": `+meta(8))
	specs = append(specs, `{"user_input": {"arg": `+tensor("x")+`}}`)
	program := fmt.Sprintf(
		`{"graph_module": {"graph": {"inputs": [%s], "outputs": [%s], "nodes": [%s], "tensor_values": {%s}, "sym_int_values": {}, "sym_float_values": {}, "sym_bool_values": {},
		"is_single_tensor_return": false, "custom_obj_values": {}},
		"signature": {"input_specs": [%s], "output_specs": [{"user_output": {"arg": %s}}]}, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}},
		"opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 8}, "verifiers": [], "torch_version": "2.14.0", "guards_code": []}`,
		strings.Join(inputs, ", "), tensor(x), strings.Join(nodes, ",\n"), strings.Join(values,
			",\n"), strings.Join(specs, ", "), tensor(x))
	for _, m := range readArchive(t, linear) {
		switch {
		case strings.HasSuffix(m.name, "models/model.json"):
			m.data = []byte(program)
		case strings.HasSuffix(m.name, "model_weights_config.json"):
			m.data = fmt.Appendf(nil, `{"config": {%s}}`, strings.Join(configs, ", "))
		case strings.Contains(m.name, "weights/weight_"), strings.Contains(m.name, "sample_inputs"):
			continue
		}
		members = append(members, m)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"model.pt2": writeArchive(t, members),
		"input.bin": make([]byte, 4*8*width)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "model.pt2")
}
