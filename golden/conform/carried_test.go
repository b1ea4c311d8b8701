package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/way"
)

// carried are the models that etgen has to carry, as exported and decomposed,
// with all their calls.
var carried = map[string]string{
	"models": `add add_alpha_scalar addmulsubdiv channels_last cond constants conv1d_net counter_buffer dict_io
		dynamic_batch dynamic_batch_conv embedding gru input_mutation kwargs_default_none kws_trained lenet
		lenet_tanh_avgpool linear lstm mlp3 mlperf_kws_dscnn multi_io nanogpt_sdpa noncontig_input sin
		static_kv_prefill tied_weights trained_ad01 trained_kws01 transformer_encoder while_loop`,
	"models-torch2.6": `add channels_last cond constants counter_buffer dict_io dynamic_batch lenet linear lstm mlp3
		no_grad_inside noncontig_input tied_weights`,
}

// Every model that etgen has to carry agrees with PyTorch, through C and Go.
func TestCarried(t *testing.T) {
	const shared = "../../../shared"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the models are not beside the repository: ", err)
	}
	var dirs []string
	for folder, names := range carried {
		for name := range strings.FieldsSeq(names) {
			dirs = append(dirs, filepath.Join(shared, folder, name))
		}
	}
	report, err := Check(t.Context(), dirs, []way.Way{way.C{}, way.Go{}}, func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.Passed+report.Failed < 2*len(dirs) {
		t.Errorf("%v of %d folders", report, len(dirs))
	}
}

// The checked-in cases, each a mechanism, through C and Go.
func TestCases(t *testing.T) {
	report, err := Check(t.Context(), []string{"../cases"}, []way.Way{way.C{}, way.Go{}}, func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
