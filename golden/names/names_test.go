package names

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// TestNames gives the subjects the hostile names: each subject all of them, or a third, a
// few at once, and each name to a subject in several places.
func TestNames(t *testing.T) {
	tier.Needs(t, tier.Normal)
	turns := tier.Of(0, 3, 1)
	for n, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			made, all := 0, 0
			try := func(names map[int]string, d depth) {
				all++
				if check(t, s, names, d) {
					made++
				}
			}
			for first := 0; first < len(hostile); first += s.names {
				if (first/s.names+n)%turns != 0 {
					continue // other subjects have them
				}
				some := map[int]string{}
				for k := range s.names {
					some[k] = hostile[(first+(k+n)%s.names)%len(hostile)]
				}
				try(some, depth{compilers: first/s.names/turns%4 == n%4})
			}
			for i := n; i < len(hostile); i += len(subjects()) {
				name := hostile[i]
				several := map[int]string{i % s.names: name, (i + 3) % s.names: name + "_",
					(i + 5) % s.names: name + "2", (i + 8) % s.names: "forward" + name}
				try(several, depth{compilers: i/len(subjects())%2 == 0})
			}
			if made < all*3/4 {
				t.Errorf("only %d of %d programs are made", made, all)
			}
		})
	}
}

// TestRegistry gives them to programs that kernels are generated for.
func TestRegistry(t *testing.T) {
	tier.Needs(t, tier.Normal)
	s := subjects()[1]
	step := tier.Of(0, s.names, min(8, s.names))
	for i := 0; i < len(hostile); i += step {
		some := map[int]string{}
		for k := range min(s.names, len(hostile)-i) {
			some[k] = hostile[i+k]
		}
		check(t, s, some, depth{registry: true})
	}
}

// FuzzNames fuzzes the names of programs of both formats to the end. The C compiler
// and the type checker look at a sample.
func FuzzNames(f *testing.F) {
	tier.Needs(f, tier.Normal)
	for i, name := range hostile {
		f.Add(uint8(i), uint8(i/2), name, hostile[(i+1)%len(hostile)],
			hostile[(i*7+3)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, which, first uint8, a, b, c string) {
		s := subjects()[int(which)%len(subjects())]
		k := int(first)
		some := map[int]string{k % s.names: a, (k + 1) % s.names: b, (k + 2) % s.names: c,
			(k + 4) % s.names: a + b}
		sum := int(which) + int(first) + len(a)*3 + len(b)*5 + len(c)*7
		check(t, s, some, depth{compilers: sum%64 == 0})
	})
}

// TestHostile: no name stands there twice.
func TestHostile(t *testing.T) {
	list := slices.Clone(hostile)
	slices.Sort(list)
	if n := len(slices.Compact(list)); n != len(hostile) {
		t.Errorf("%d of %d differ", n, len(hostile))
	}
}
