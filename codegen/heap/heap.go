// Package heap says when a process that compiles collects garbage.
package heap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// most is how large the heap may become before all is collected that can be.
const most = 768 << 20

// Grow lets the heap grow to five times what is alive in it, but not beyond most,
// before garbage is collected: a compilation allocates much that lives long, and half
// of its time would go into looking at that again and again. Once most of it is alive
// the heap grows as those of other programs do. Environment variables of Go that say
// otherwise are obeyed.
func Grow() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	grow(most)
}

func grow(most int64) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(most)
	watch(uint64(most) / 2)
}

// watch looks at what is alive after the next collection.
func watch(most uint64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtime.AddCleanup(new(*int), func(struct{}) {
		if metrics.Read(live); live[0].Value.Uint64() > most {
			debug.SetGCPercent(100)
			debug.SetMemoryLimit(math.MaxInt64)
			return
		}
		watch(most)
	}, struct{}{})
}
