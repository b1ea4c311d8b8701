package conform

import (
	"path/filepath"
	"slices"
	"strings"
)

// Carried returns the folders of the models that etgen has to carry, in path
// order. They are in a collection of cases beside the repository, shared.
func Carried(shared string) []string {
	var dirs []string
	for folder, names := range carried() {
		for name := range strings.FieldsSeq(names) {
			dirs = append(dirs, filepath.Join(shared, folder, name))
		}
	}
	slices.Sort(dirs)
	return dirs
}

func carried() map[string]string {
	return map[string]string{
		"models": `add add_alpha_scalar addmulsubdiv channels_last cond constants conv1d_net counter_buffer dict_io
			dynamic_batch dynamic_batch_conv embedding gru input_mutation kwargs_default_none kws_trained lenet
			lenet_tanh_avgpool linear lstm mlp3 mlperf_kws_dscnn multi_io nanogpt_sdpa noncontig_input sin
			static_kv_prefill tied_weights trained_ad01 trained_kws01 transformer_encoder while_loop`,
		"models-torch2.6": `add channels_last cond constants counter_buffer dict_io dynamic_batch lenet linear lstm mlp3
			no_grad_inside noncontig_input tied_weights`,
	}
}
