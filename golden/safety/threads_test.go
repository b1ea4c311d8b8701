package safety

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/way"
)

// threadCases are the cases, by what is in their names, of which kernels in parts
// are run: convolutions and products, pooling, attention, rows and columns that are
// reduced, tables, memory that results and operands have in common.
var threadCases = []string{"conv", "digits", "lenet", "attention", "matmul", "pool2d", "softmax", "layer_norm", "batch_norm", "resize",
	"cat_split", "embedding", "dynamic_two", "reshape", "gather_scatter", "mutated"}

// Kernels whose parts run in threads of their own give the same bytes as whole
// ones, in however many parts.
func TestThreadsAgree(t *testing.T) {
	all, allNames := allCases(t)
	var jobs []way.Job
	var names []string
	var index []int
	for i, name := range allNames {
		if dir, file := path.Split(name); file == "model.pt2" && slices.ContainsFunc(threadCases, func(s string) bool { return strings.Contains(dir, s) }) {
			jobs, names, index = append(jobs, all[i]), append(names, name), append(index, i)
		}
	}
	for _, lang := range []string{"c", "go"} {
		all := wholeCases(t, lang)
		for _, threads := range []int{2, 7} {
			s := way.Settings{Options: compile.Options{Threads: threads, DivideAll: true}}
			parts := runAll(t.Context(), language(lang, s, comparing()), jobs)
			threaded := 0
			for i := range jobs {
				whole := all[index[i]]
				if err := sameBytes(whole, parts[i]); err != nil {
					t.Errorf("%s, %s in %d parts: %v", lang, names[i], threads, err)
				}
				if parts[i].Err == nil && parts[i].Code > whole.Code {
					threaded++
				}
			}
			if 2*threaded < len(jobs) {
				t.Errorf("%s: only %d programs have parts", lang, threaded)
			}
		}
	}
}
