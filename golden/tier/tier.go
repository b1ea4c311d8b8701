// Package tier says how much the tests try. The same code runs in every tier, with
// other numbers:
//
//   - go test -short: what a change is tried with while it is made, in seconds;
//   - go test, as make test has it: what a change has to pass;
//   - ETGEN_TESTS=all go test, as make test-all has it: all there is.
//
// What a test tries in a lower tier is a part of what it tries in a higher one, and the
// same in each run.
package tier

import (
	"fmt"
	"os"
	"testing"

	"github.com/etgen/etgen/codegen/heap"
)

// Tests compile much, and collect garbage as seldom as etgen does.
func init() { heap.Grow() }

// Tier is how much the tests try.
type Tier int

// The tiers.
const (
	Short Tier = iota
	Normal
	All
)

// Variable is the environment variable that asks for a tier above the normal one.
const Variable = "ETGEN_TESTS"

// Now returns the tier that runs.
func Now() Tier {
	switch value := os.Getenv(Variable); {
	case testing.Short():
		return Short
	case value == "all":
		return All
	case value != "":
		panic(fmt.Sprintf("%s is %q: it can be all, or nothing", Variable, value))
	}
	return Normal
}

// Of returns the value of the tier that runs.
func Of[T any](short, normal, all T) T {
	return []T{short, normal, all}[Now()]
}

// Needs skips a test that a lower tier than least leaves out.
func Needs(t testing.TB, least Tier) {
	t.Helper()
	if Now() < least {
		t.Skipf("%s tries it", []string{"go test -short", "make test", "make test-all"}[least])
	}
}

// Some returns a list whole in the highest tier, and a part of it in the others: as many
// elements as short and normal say, evenly taken. A number below 0 is the whole list.
func Some[T any](list []T, short, normal int) []T {
	n := Of(short, normal, -1)
	if n < 0 || n >= len(list) {
		return list
	}
	some := make([]T, n)
	for i := range some {
		some[i] = list[i*len(list)/n]
	}
	return some
}

// Share returns the k-th of n shares of a list, each n-th element of it, and in the highest tier
// the whole list: settings that each try a list do not all try the same elements of it.
func Share[T any](list []T, k, n int) []T {
	if Now() == All {
		return list
	}
	var share []T
	for i := k; i < len(list); i += n {
		share = append(share, list[i])
	}
	return share
}
