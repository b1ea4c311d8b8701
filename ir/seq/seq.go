// Package seq makes slices and maps of others, as package slices does not.
package seq

import "sort"

// Map returns f of each element.
func Map[T, U any](xs []T, f func(T) U) []U {
	return Of(len(xs), func(i int) U { return f(xs[i]) })
}

// Of returns f of 0, 1, …, n-1.
func Of[T any](n int, f func(int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Filter returns the elements that keep is true of.
func Filter[T any](xs []T, keep func(T) bool) (kept []T) {
	for _, x := range xs {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// Set returns the set of the elements.
func Set[T comparable](xs []T) map[T]bool {
	set := map[T]bool{}
	for _, x := range xs {
		set[x] = true
	}
	return set
}

// KeyBy returns the elements by their keys. Of those with one key it has the last.
func KeyBy[K comparable, T any](xs []T, key func(T) K) map[K]T {
	by := map[K]T{}
	for _, x := range xs {
		by[key(x)] = x
	}
	return by
}

// Sort sorts a short list; equal elements stay in their order. It does what slices.SortStableFunc
// does, which is faster for long lists. But the compiler makes some KB of code of that for each
// type of elements, and of this a few bytes.
func Sort[T any](xs []T, compare func(a, b T) int) {
	sort.SliceStable(xs, func(i, j int) bool { return compare(xs[i], xs[j]) < 0 })
}
