package cli

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// patience is how long a command may take before it tells what it does; tests have none.
var patience = 500 * time.Millisecond

// progress is a line on the terminal that tells what a command does, and how far it has come.
// Its methods may be called at the same time.
type progress struct {
	to    io.Writer // nil: silent
	color bool

	text atomic.Pointer[string] // of the step, which mpb reads when it draws

	mutex sync.Mutex // of what is below
	bars  *mpb.Progress
	bar   *mpb.Bar
	all   int
	timer *time.Timer
}

// step tells what is done now. Nobody knows how long it takes.
func (p *progress) step(text string) { p.show(text, 0, 0) }

// counter returns a function that tells how many of how many are done.
func (p *progress) counter(text string) func(done, all int) {
	return func(done, all int) { p.show(text, done, all) }
}

func (p *progress) show(text string, done, all int) {
	if p.to == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if all != p.all {
		p.end()
	}
	p.text.Store(&text)
	if p.bars == nil {
		p.begin(all)
	}
	p.bar.SetCurrent(int64(done))
	if all > 0 && done >= all {
		p.end() // mpb removes a bar that is full: the next count begins anew
	}
}

func (p *progress) begin(all int) {
	paint := func(s string) string { return s }
	if p.color {
		paint = func(s string) string { return "\x1b[36m" + s + "\x1b[0m" }
	}
	var filler mpb.BarFillerBuilder = mpb.SpinnerStyle().Meta(paint)
	width, after := 1, []decor.Decorator{decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 4})}
	if all > 0 {
		filler, width = mpb.BarStyle().FillerMeta(paint).TipMeta(paint), 40
		after = append([]decor.Decorator{decor.CountersNoUnit("%d of %d ")}, after...)
	}
	soon := make(chan any)
	p.timer = time.AfterFunc(patience, func() { close(soon) })
	p.bars = mpb.New(mpb.WithOutput(p.to), mpb.WithWidth(width), mpb.WithRenderDelay(soon))
	p.bar, p.all = p.bars.New(int64(all), filler, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *p.text.Load() + " " })),
		mpb.AppendDecorators(after...)), all
}

// clear takes the line away, before something else is written.
func (p *progress) clear() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.end()
}

func (p *progress) end() {
	if p.bars == nil {
		return
	}
	p.timer.Stop()
	p.bar.Abort(true)
	p.bars.Wait()
	p.bars = nil
}
