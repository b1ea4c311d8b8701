//go:build (amd64 || arm64) && !purego

package strip

// levels runs f with all forms of primitives that the machine has, the best
// last.
func levels(f func(level int)) {
	best := level
	defer func() { level = best }()
	for level = 0; level <= best; level++ {
		f(level)
	}
}

// plain runs f without vectors.
func plain(f func()) {
	best := level
	defer func() { level = best }()
	level = 0
	f()
}
