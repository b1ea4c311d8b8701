package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

// oddPrograms are ExecuTorch programs that nobody means to write.
var oddPrograms = map[string]func(*pte.Program){
	"as it is":        func(*pte.Program) {},
	"no methods":      func(p *pte.Program) { p.Plans = nil },
	"no outputs":      func(p *pte.Program) { p.Plans[0].Outputs = nil },
	"no inputs":       func(p *pte.Program) { p.Plans[0].Inputs = nil },
	"no instructions": func(p *pte.Program) { p.Plans[0].Chains[0].Instructions = nil },
	"no chains":       func(p *pte.Program) { p.Plans[0].Chains = nil },
	"no values": func(p *pte.Program) {
		*p.Plans[0] = pte.ExecutionPlan{Name: "forward", BufferSizes: []int64{0}}
	},
	"outputs are input": func(p *pte.Program) {
		p.Plans[0].Outputs = slices.Clone(p.Plans[0].Inputs)
	},
	"output twice": func(p *pte.Program) {
		p.Plans[0].Outputs = append(p.Plans[0].Outputs, p.Plans[0].Outputs[0])
	},
	"input twice": func(p *pte.Program) {
		p.Plans[0].Inputs = append(p.Plans[0].Inputs, p.Plans[0].Inputs[0])
	},
	"empty name":    func(p *pte.Program) { p.Plans[0].Name = "" },
	"two of a name": func(p *pte.Program) { p.Plans = append(p.Plans, p.Plans[0]) },
	"only the input": func(p *pte.Program) {
		p.Plans[0].Chains[0].Instructions = nil
		p.Plans[0].Outputs = slices.Clone(p.Plans[0].Inputs)
	},
	"output is constant": func(p *pte.Program) {
		for i, v := range p.Plans[0].Values {
			if t, ok := v.(*pte.Tensor); ok && t.DataIndex > 0 {
				p.Plans[0].Outputs[0] = int32(i)
			}
		}
	},
}

// oddGraphs are exported programs likewise: what is replaced in the graph of the
// linear model.
var oddGraphs = map[string][]string{
	"no outputs": {`"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
		`"outputs": [], "nodes"`, `{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`,
		``},
	"output is input": {`"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
		`"outputs": [{"as_tensor": {"name": "input"}}], "nodes"`,
		`{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`,
		`{"user_output": {"arg": {"as_tensor": {"name": "input"}}}}`},
	"output is constant": {`"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
		`"outputs": [{"as_tensor": {"name": "p_bias"}}], "nodes"`,
		`{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`,
		`{"user_output": {"arg": {"as_tensor": {"name": "p_bias"}}}}`},
	"output twice": {`"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
		`"outputs": [{"as_tensor": {"name": "linear"}}, {"as_tensor": {"name": "linear"}}], "nodes"`,
		`{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`,
		`{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}, {"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`},
	"input twice": {`{"as_tensor": {"name": "input"}}], "outputs"`,
		`{"as_tensor": {"name": "input"}}, {"as_tensor": {"name": "input"}}], "outputs"`},
	"empty input name": {`{"as_tensor": {"name": "input"}}], "outputs"`,
		`{"as_tensor": {"name": ""}}], "outputs"`},
	"empty output name": {`"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
		`"outputs": [{"as_tensor": {"name": ""}}], "nodes"`},
	"empty target":    {`"torch.ops.aten.linear.default"`, `""`},
	"empty parameter": {`"parameter_name": "weight"`, `"parameter_name": ""`},
	"no inputs": {
		`{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "p_bias"}}, {"as_tensor": {"name": "input"}}`, ``},
}

// Every command answers an odd program with an error of the model, or it works:
// never with a panic or an error of its own, on no way.
func TestOddPrograms(t *testing.T) {
	type odd struct{ name, file string }
	var all []odd
	dir := t.TempDir()
	add := func(kind, name string, data []byte) {
		sub := filepath.Join(dir, kind+strings.ReplaceAll(name, " ", "_"))
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(sub, "model."+kind)
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		all = append(all, odd{kind + " " + name, file})
	}
	for name, change := range oddPrograms {
		p, closer, err := compile.Read(linear)
		if err != nil {
			t.Fatal(err)
		}
		out, err := compile.PTE(p, compile.Options{})
		closer.Close()
		if err != nil {
			t.Fatal(err)
		}
		change(out.Program)
		var data bytes.Buffer
		if err := pte.Write(&data, out.Program); err != nil {
			t.Logf("%s: cannot be written: %v", name, err)
			continue
		}
		add("pte", name, data.Bytes())
	}
	for name, pairs := range oddGraphs {
		add("pt2", name, edited(t, pairs...))
	}
	input := filepath.Join(dir, "x.bin")
	if err := os.WriteFile(input, make([]byte, 2*3*5*4), 0o666); err != nil {
		t.Fatal(err)
	}
	commands := []string{
		"MODEL --lang=c -o OUT", "MODEL --lang=go -o OUT", "MODEL --lang=pte -o OUT",
		"run MODEL -i INPUT -o OUT --via=c", "run MODEL -i INPUT -o OUT --via=go",
		"run MODEL -i INPUT -o OUT --via=rt", "run MODEL -i INPUT -o OUT --via=rt-optimize",
		"run MODEL -i INPUT -o OUT --via=eval", "run MODEL -o OUT --via=c",
		"run MODEL -o OUT --via=rt", "run MODEL -i INPUT -i INPUT -o OUT --via=c",
		"run MODEL -i INPUT -i INPUT -o OUT --via=rt", "bench MODEL --via=c,rt --for=1ms",
		"bench MODEL --via=rt-optimize --for=1ms", "golden record MODEL -o OUT --via=c",
		"golden record MODEL -o OUT --via=rt", "golden record MODEL -o OUT --via=eval",
		"inspect MODEL --svg=OUT/memory.svg", "inspect MODEL --json",
		"inspect MODEL --lang=c --svg=OUT/c.svg", "lower MODEL --dump-after=all",
		"lower MODEL --lang=pte", "registry MODEL -o OUT/kernels_gen.go",
	}
	if tier.Now() == tier.Short {
		commands = slices.DeleteFunc(commands, func(c string) bool {
			return strings.Contains(c, "via=c") || strings.Contains(c, "via=go")
		})
	}
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			for _, line := range commands {
				if strings.HasPrefix(line, "registry") && filepath.Ext(o.file) == ".pt2" {
					continue
				}
				out := filepath.Join(t.TempDir(), "out")
				args := strings.NewReplacer("MODEL", o.file, "OUT", out, "INPUT",
					input).Replace(line)
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), strings.Fields(args), &stdout, &stderr)
				text := stderr.String()
				if code != exitOK && code != exitModel && code != exitUsage ||
					strings.Contains(text, "internal error") ||
					strings.Contains(text, "defect of etgen") || code != exitOK && text == "" {
					t.Errorf("etgen %s: exit code %d\n%s", line, code, text)
				}
				if strings.HasPrefix(line, "golden record") && code == exitOK {
					if code := run(t.Context(), []string{"golden", "check", out, "--via=rt,eval"},
						&stdout, &stderr); code != exitOK {
						t.Errorf("etgen golden check of what %s made: exit code %d\n%s%s", line,
							code, stdout.String(), stderr.String())
					}
				}
			}
		})
	}
}
