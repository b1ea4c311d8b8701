package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/report/page"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// browser is a page in a browser without a screen. What a script of the page throws fails the test.
type browser struct {
	*testing.T
	ctx context.Context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	tier.Needs(t, tier.Normal)
	path, err := toolchain.Find("chromium")
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.WindowSize(1280, 800))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("%v: %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
		}
	})
	return &browser{t, ctx}
}

// open shows a page of the data.
func (b *browser) open(d *page.Data, hash ...string) {
	b.Helper()
	var text bytes.Buffer
	if err := d.HTML(&text); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "report.html")
	if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
		b.Fatal(err)
	}
	b.run(chromedp.Navigate("file://" + file + strings.Join(hash, "")))
}

func (b *browser) run(actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// keys presses keys, one after the other. A letter comes with the key that is pressed, as from a
// keyboard, so that a page that takes the key keeps the letter out of a field.
func (b *browser) keys(keys ...string) {
	b.Helper()
	for _, k := range keys {
		if k[0] < ' ' || k[0] > '~' {
			b.run(chromedp.KeyEvent(k))
			continue
		}
		down := input.DispatchKeyEvent(input.KeyDown).WithKey(k).WithText(k)
		b.run(down, input.DispatchKeyEvent(input.KeyUp).WithKey(k))
	}
}

// want compares what an expression of JavaScript gives.
func (b *browser) want(expression string, want any) {
	b.Helper()
	var got any
	b.run(chromedp.Evaluate(expression, &got))
	x, _ := json.Marshal(got)
	y, _ := json.Marshal(want)
	if !bytes.Equal(x, y) {
		b.Errorf("%s is %s, want %s", expression, x, y)
	}
}

// Every view of a page draws, and the keyboard goes everywhere.
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	b.open(of(t, "cases/cond/model.pt2", compile.Options{Target: "cortex-m4"}))
	views := []string{"overview", "graph", "operators", "kernels", "memory", "flash", "code",
		"weights"}
	b.want("shownViews()", views)
	for i, v := range views {
		b.keys(fmt.Sprint(i + 1))
		b.want("state.view", v)
		b.want("$('view').innerText.length > 40", true)
	}
	// Search by keyboard: the second node that is found is chosen, and shown in the graph.
	b.keys("/", "g", "t", kb.ArrowDown, kb.ArrowUp, kb.Enter)
	b.want("[state.view, state.chosen.kind, nameOf('before', state.chosen.at)]",
		[]string{"graph", "before", "gt"})
	b.want("document.querySelectorAll('.box.chosen').length", 1)
	b.want("$('about').innerText.includes('aten.gt')", true)
	// Zoom.
	b.run(chromedp.Evaluate("before = graphView.scale", nil))
	b.keys("+", "+")
	b.want("graphView.scale > 1.5 * before", true)
	b.keys("0")
	b.want("graphView.width * graphView.scale <= $('graph').clientWidth + 1", true)
	// From box to box: the cond is below; Enter opens its regions, Backspace leaves them.
	b.run(chromedp.Evaluate("focusBox(graphView.boxes.find(b => b.node === state.chosen.at))", nil))
	b.keys(kb.ArrowDown)
	b.want("base(method().before.nodes[graphView.box.node].op)", "cond")
	b.keys(kb.Enter)
	b.want("[...document.querySelectorAll('.cluster-name')].map(e => e.textContent)",
		[]string{"then", "else"})
	b.want("graphView.boxes.filter(b => b.node !== undefined).length > 1", true)
	b.keys(kb.Backspace)
	b.want("graphView.path.length", 0)
	// After lowering: what is chosen stays chosen.
	b.keys("]")
	b.want("state.graph", "after")
	b.want("document.querySelectorAll('.box.chosen').length", 1)
	// A line of the code belongs to a layer, which is marked in all views.
	b.keys("7")
	b.run(chromedp.Evaluate(`n = method().calls[1].lines.last;
		document.querySelector('[data-n="' + n + '"]').click()`, nil))
	b.want("[state.chosen.kind, state.chosen.at]", []any{"layer", 1})
	b.keys("4")
	b.want("document.querySelectorAll('tr.chosen').length", 1)
	b.keys("5")
	b.want("related().buffer.size === document.querySelectorAll('rect.buffer.chosen').length", true)
	b.run(chromedp.Evaluate("document.querySelector('rect.buffer').focus()", nil))
	b.keys(kb.Enter)
	b.want("state.chosen.kind", "buffer")
	b.keys(kb.Escape, "t")
	b.want("state.chosen", nil)
	var dark string
	b.run(chromedp.Evaluate("document.documentElement.dataset.theme", &dark))
	if dark != "dark" && dark != "light" {
		t.Errorf("the theme is %q", dark)
	}
	hostile(b)
	large(b)
	delegates(b)
	rare(b)
}

// delegates are what backends took, by node, and what they left: a link
// shows the node in the graph.
func delegates(b *browser) {
	d := of(b.T, "cases/special_functions/model.pt2",
		compile.Options{Backends: []*partition.Use{{Backend: xnn.Backend{}}},
			Delegation: &partition.Report{}})
	b.open(d, "#delegates")
	b.want("state.view", "delegates")
	b.want("[...document.querySelectorAll('#view h2')].map(e => e.textContent)",
		[]string{"lowered_module_0", "lowered_module_1", "Not delegated"})
	b.want("$('view').innerText.includes('XnnpackBackend')", true)
	b.want("document.querySelectorAll('tr[data-kind=before]').length === data.not_delegated.length",
		true)
	// What it took, and its call, are links to the graph before and after lowering.
	b.run(chromedp.Evaluate(`took = data.delegates[0].nodes[0][0];
		[...document.querySelectorAll('.links')][1].querySelector('a, button').click()`, nil))
	b.want("[state.view, state.graph, state.chosen.kind, state.chosen.at === took]",
		[]any{"graph", "before", "before", true})
	b.run(chromedp.Evaluate(`open('delegates');
		document.querySelector('.links').querySelector('a, button').click()`, nil))
	b.want("[state.view, state.graph, base(method().after.nodes[state.chosen.at].op)]",
		[]any{"graph", "after", "executorch_call_delegate"})
	b.run(chromedp.Evaluate(
		`open('delegates'); document.querySelector('tr[data-kind=before]').click()`, nil))
	b.want("document.querySelectorAll('tr.chosen').length > 0", true) // it, and what is fused with it
}

// rare is what few models have: no operators, several methods, values of no node.
func rare(b *browser) {
	b.open(of(b.T, "cases/input_as_output/model.pt2", compile.Options{}))
	b.want("[...shownViews()].every(v => { open(v); return $('view').innerText.length > 20; })", true)
	d := of(b.T, "delegated/two_methods/model.pte", compile.Options{})
	text := foreign.Of("nowhere")
	d.Quantization = &page.Quantization{
		Errors: []page.Error{{Method: 1, Layer: text, Op: text, Own: 999, Total: 20}},
		Values: []page.Quantized{{Method: 1, Value: text, Scales: 2, ZeroPoint: -3, LastZero: 4},
			{Method: 1, Value: d.Methods[1].Before.Nodes[0].Name}}}
	d.Methods[1].Memory.Banks[0].Bytes = 2
	b.open(d, "#constructor/1")
	b.want("[state.view, state.method, $('method').value]", []any{"overview", 1, "1"})
	b.run(chromedp.Evaluate("open('quantization')", nil))
	b.want("[$('view').innerText.includes('exact'), $('view').innerText.includes('-3 … 4')]",
		[]bool{true, true})
	b.want("[...document.querySelectorAll('tr[data-kind=none]')].map(e => e.click()).length", 2)
	b.want("state.chosen", nil)
	b.run(chromedp.Evaluate("document.querySelector('tr[data-kind=before]').click()", nil))
	b.want("document.querySelectorAll('tr.chosen').length", 1)
	b.run(chromedp.Evaluate("open('memory')", nil))
	b.want("[...document.querySelectorAll('.grid + text')].map(e => e.textContent)",
		[]string{"0 B", "1 B", "2 B"})
	b.run(chromedp.Evaluate("open('operators')", nil))
	b.want("$('view').innerText.includes('MACs')", false)
}

// hostile names stay text in every view.
func hostile(b *browser) {
	d := of(b.T, "cases/lenet/model.pt2", compile.Options{})
	name := foreign.Of("</script><img src=x onerror=\"evil=1\">\u202e\x1b")
	for i := range d.Methods[0].Before.Nodes {
		n := &d.Methods[0].Before.Nodes[i]
		n.Name, n.Op, n.Module, n.Line, n.Args = name, name, name, name, name
	}
	for i := range d.Methods[0].Before.Values {
		d.Methods[0].Before.Values[i].Name, d.Methods[0].Before.Values[i].Type = name, name
	}
	for i := range d.Weights {
		d.Weights[i].Name = name
	}
	l := &d.Takes.Methods[0].Layers[0]
	l.Name, l.Line, l.Operators = name, name, []foreign.Text{name}
	d.Code.Text = strings.Repeat("</div><b id=evil>"+name.Raw()+"\n", 50)
	d.Takes.Model = name.Raw()
	b.open(d)
	for i := range 8 {
		b.keys(fmt.Sprint(i + 1))
	}
	b.keys("/", "e", "v", "i", "l")
	b.want("typeof evil", "undefined")
	b.want("document.querySelectorAll('img, #evil').length", 0)
	b.want("document.body.innerText.includes('\\u202e')", false)
}

// large models open at once: what costs is done when it is looked at.
func large(b *browser) {
	d := of(b.T, "cases/lenet/model.pt2", compile.Options{})
	g := &d.Methods[0].Before
	for i := range 20000 {
		g.Values = append(g.Values, page.Value{Name: foreign.Of(fmt.Sprint("v", i)), Weight: -1,
			Kind: "node"})
		g.Nodes = append(g.Nodes, page.Node{Name: foreign.Of(fmt.Sprint("n", i)),
			Op: foreign.Of("aten.add.Tensor"), Reads: []int{len(g.Values) - 2},
			Makes:  []int{len(g.Values) - 1},
			Module: foreign.Of(fmt.Sprintf("layers.%d.part.%d", i/100, i/10%10))})
	}
	b.open(d)
	// Half a second on a quiet machine.
	b.want("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd < 10000", true)
	b.run(chromedp.Evaluate("from = performance.now(), open('graph'), took = performance.now() "+
		"- from", nil))
	b.want("took < 10000", true)
	b.want("graphView.boxes.length < 200", true)
	b.run(chromedp.Evaluate("choose('before', 15000, 'graph')", nil))
	b.want("document.querySelectorAll('.box.chosen').length", 1)
}
