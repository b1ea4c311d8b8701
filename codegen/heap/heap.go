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

// Grow makes the process collect garbage only when the heap is five times as large as what
// was alive in it, or reaches most. A compilation allocates much memory that lives long;
// half of its time would go into scanning that memory. If more than half of most is alive,
// the heap grows as in any Go program. GOGC and GOMEMLIMIT are obeyed.
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
