//go:build (!amd64 && !arm64) || purego

package strip

// levels runs f with all forms of primitives that the machine has.
func levels(f func(level int)) { f(0) }

// plain runs f without vectors.
func plain(f func()) { f() }
