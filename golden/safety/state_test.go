package safety

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// movesWhole are the kernels that read all of a state, or of an input that the call
// changes, and write as much elsewhere, or the other way round, by case: in C, Go or
// both. Each says why.
var movesWhole = map[string]struct{ why, kernels string }{
	"batch_norm_training": {
		"the caller gets the new statistics, and they are state",
		"native_batch_norm_legit_functional_2 of kept_running_mean, " +
			"native_batch_norm_legit_functional_2 of kept_running_var",
	},
	"batch_norm_training.core": {
		"the caller gets the new statistics, and they are state",
		"native_batch_norm_legit_functional_2 of kept_running_mean, " +
			"native_batch_norm_legit_functional_2 of kept_running_var",
	},
	"norms_that_update": {
		"the caller gets the new statistics, and they are state",
		"native_batch_norm_legit_functional_2 of m1, " +
			"native_batch_norm_legit_functional_2 of m1v, " +
			"native_batch_norm_legit_functional_4 of m2, " +
			"native_batch_norm_legit_functional_4 of m2v, " +
			"reshape_repeat_native_batch_norm_legit_functional_mean of m3, " +
			"reshape_repeat_native_batch_norm_legit_functional_mean_2 of m3v",
	},
	"norms_that_update.core": {
		"the caller gets the new statistics, and they are state",
		"native_batch_norm_legit_functional_2 of m1, " +
			"native_batch_norm_legit_functional_2 of m1v, " +
			"native_batch_norm_legit_functional_4 of m2, " +
			"native_batch_norm_legit_functional_4 of m2v, " +
			"view_repeat_native_batch_norm_legit_functional_mean of m3, " +
			"view_repeat_native_batch_norm_legit_functional_mean_2 of m3v",
	},
	"branches": {
		"the input takes the place of all of the state, which a convolution reads before",
		"convolution_tanh of last, copy of last",
	},
	"branches.core": {
		"the input takes the place of all of the state, which a convolution reads before",
		"convolution_tanh of last, copy of last",
	},
	"cache_duplicates": {
		"the result has the size of the cache",
		"clamp_unsqueeze_div of cache",
	},
	"cache_duplicates.core": {
		"the result has the size of the cache",
		"clamp_unsqueeze_div of cache",
	},
	"cache_in_scan": {
		"all rows move, and their sum is read before they may",
		"copy of cache",
	},
	"cache_in_scan.core": {
		"all rows move, and their sum is read before they may",
		"copy of cache",
	},
	"cache_layers.core": {
		"core form writes a row as a choice over all elements, one after the other",
		"unsqueeze_expand_where_2 of cache",
	},
	"cache_old_part.core": {
		"core form writes a row as a choice over all elements, one after the other",
		"copy of cache",
	},
	"cache_old_value": {
		"all of the old value is read together with the new one",
		"copy_2 of cache",
	},
	"cache_old_value.core": {
		"all of the old value is read together with the new one",
		"copy_2 of cache",
	},
	"cache_returned": {
		"the caller gets the cache too",
		"copy of cache",
	},
	"cache_returned.core": {
		"the caller gets the cache too",
		"copy of cache",
	},
	"cache_shift": {
		"rows move round",
		"copy_3 of round, roll of round",
	},
	"cache_shift.core": {
		"core form writes a row as a choice over all elements, one after the other",
		"copy of cache, copy of round, copy of up, index_select of round, " +
			"unsqueeze_expand_where of cache, unsqueeze_expand_where of up",
	},
	"cache_twice": {
		"what the cache held between two writes is read after the second",
		"copy of cache",
	},
	"cache_twice.core": {
		"what the cache held between two writes is read after the second",
		"copy of cache",
	},
	"cache_under_cond": {
		"in a branch the old value is read together with the new one",
		"copy of before",
	},
	"cache_under_cond.core": {
		"in a branch the old value is read together with the new one",
		"copy of before",
	},
	"cache_windows.core": {
		"core form writes a row as a choice over all elements, one after the other",
		"copy of cache, unsqueeze_expand_where of cache",
	},
	"counter_buffer": {
		"rows move round",
		"copy of hist, mul of n, roll_add of hist",
	},
	"counter_buffer.core": {
		"rows move round",
		"copy of hist, index_select_add of hist, mul of n",
	},
	"input_mutation": {
		"the results have the size of the input",
		"add of x, mul of x",
	},
	"input_mutation.core": {
		"the results have the size of the input",
		"add of x, mul of x",
	},
	"llama_kvcache.core": {
		"the keys are scaled for a product with few queries",
		"permute_mul of kc0, permute_mul of kc1",
	},
	"mutated_buffer": {
		"the caller gets old and new totals",
		"add_2 of total, copy of total, div of total",
	},
	"mutated_buffer.core": {
		"the caller gets old and new totals",
		"add_2 of total, copy of total, div of total",
	},
	"mutated_constant": {
		"a total becomes another, and a result of its size",
		"add of total, mul of total",
	},
	"mutated_input": {
		"the results have the size of the inputs",
		"add of x, add of y, sub of x, sub of y",
	},
	"mutated_input.core": {
		"the results have the size of the inputs",
		"add of x, add of y, sub of x, sub of y",
	},
	"state_tied": {
		"totals become others, and results of their size",
		"add of total, add_2 of total, mul of other, mul of total",
	},
	"complex_signature":      {"the parts of complex numbers are joined", "copy of sum"},
	"complex_signature.core": {"the parts of complex numbers are joined", "copy of sum"},
	"static_cache_llama": {
		"a position goes to another state; keys of grouped queries repeat for a product with few queries",
		"add of lifted_tensor_1, copy of lifted_tensor_0, copy of lifted_tensor_1, " +
			"unsqueeze_expand of llama_model_layers_0_self_attn_lifted_tensor_2, " +
			"unsqueeze_expand of llama_model_layers_0_self_attn_lifted_tensor_3, " +
			"unsqueeze_expand of llama_model_layers_1_self_attn_lifted_tensor_4, " +
			"unsqueeze_expand of llama_model_layers_1_self_attn_lifted_tensor_5",
	},
	"static_kv_prefill": {
		"as many scores as the cache has elements",
		"bmm_view of kc0, bmm_view of kc1",
	},
	"static_kv_prefill.core": {
		"the keys are scaled for a product with few queries",
		"permute_mul of kc0, permute_mul of kc1",
	},
}

// State is updated where it lies: no kernel copies all of it but where it must.
func TestStateInPlace(t *testing.T) {
	tier.Needs(t, tier.Normal)
	files, err := filepath.Glob("../cases/*/model*.pt2")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	shared := []string{"counter_buffer", "index_put_scatter", "input_mutation", "llama_kvcache",
		"static_kv_prefill"}
	for _, name := range shared {
		more, err := filepath.Glob(filepath.Join("../../../shared/models", name, "model*.pt2"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	found, held := map[string][]string{}, 0
	for _, file := range files {
		p, closer, err := compile.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		form := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "model"), ".pt2")
		name := filepath.Base(filepath.Dir(file)) + form
		for _, lang := range []string{"c", "go"} {
			np, err := compile.Native(ir.Clone(p), compile.Options{Lang: lang})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, m := range np.Methods {
				held += len(heldBy(m))
				found[name] = append(found[name], movesOf(m)...)
			}
		}
	}
	if held < 100 {
		t.Errorf("only %d buffers outlive a call", held)
	}
	for name, kernels := range found {
		slices.Sort(kernels)
		got, want := strings.Join(slices.Compact(kernels), ", "), movesWhole[name].kernels
		if got != want {
			t.Errorf("%s: whole states are moved by\n%s, want\n%s", name, got, want)
		}
	}
}

// heldBy returns the memory that outlives a call of m.
func heldBy(m *native.Method) (held []*native.Buffer) {
	for _, b := range m.Buffers {
		changed := slices.ContainsFunc(m.Inputs, func(p native.Port) bool {
			return p.Buf == b && p.Mutated
		})
		if b.Root == nil && !b.Len.IsZero() && (b.Storage == native.State || changed) {
			held = append(held, b)
		}
	}
	return held
}

// movesOf names the kernels that read as many elements as a buffer has that m
// holds, and write as many, one of both being that buffer, but not in place.
func movesOf(m *native.Method) (names []string) {
	held := heldBy(m)
	codegen.Walk(m.Body, func(s native.Stmt) {
		c, ok := s.(*native.Call)
		if !ok {
			return
		}
		for _, h := range held {
			var from, to []*native.Buffer
			for i, b := range c.Args {
				read, write := c.Kernel.Uses(i)
				switch {
				case b.MaxLen < h.MaxLen || b.DType != h.DType || read && write ||
					c.Kernel.IsScratch(i):
				case read:
					from = append(from, b)
				default:
					to = append(to, b)
				}
			}
			for _, a := range from {
				for _, b := range to {
					if (native.Root(a) == h) != (native.Root(b) == h) {
						names = append(names, c.Kernel.Name+" of "+h.Name)
					}
				}
			}
		}
	})
	return names
}
