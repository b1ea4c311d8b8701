package compile

import "testing"

func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{
		"My-Net.pt2": "my_net", "a/b/lenet.pt2": "lenet", "2net.pt2": "model2net",
		"__x__.y.pt2": "x_y", "ä.pt2": "model", "": "model",
		"model.core.pt2": "model_core", "v.pt2": "v", "v2_net.pt2": "v2_net", "1.pt2": "model1",
	} {
		if got := NameOf(file); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", file, got, want)
		}
	}
}
