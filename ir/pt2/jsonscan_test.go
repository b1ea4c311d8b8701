package pt2

import (
	"math"
	"strings"
	"testing"
)

func TestScannerFloats(t *testing.T) {
	for text, want := range map[string]float64{
		"NaN": math.NaN(), `"NaN"`: math.NaN(), "Infinity": math.Inf(1), `"Infinity"`: math.Inf(1),
		"-Infinity": math.Inf(-1), `"-Infinity"`: math.Inf(-1), "1e400": math.Inf(1), "-0.5": -0.5,
		"1e-3": 1e-3, "3": 3,
	} {
		s := &scanner{data: []byte(" " + text + " ")}
		got := s.float()
		s.end()
		if s.err != nil || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %v, %v", text, got, s.err)
		}
	}
	for _, text := range []string{"nan", "Inf", "0x1p3", "1_0", "", `""`, "+1", "01", "--1", "null",
		"1e", `"abc"`} {
		s := &scanner{data: []byte(text)}
		if v := s.float(); s.err == nil {
			t.Errorf("%q gives %v", text, v)
		}
	}
}

func TestScannerStrings(t *testing.T) {
	for text, want := range map[string]string{
		`"a\"b\\"`: `a"b\`, `"\u00e9\ud83d\ude00\n"`: "é😀\n", `"NaN, Infinity"`: "NaN, Infinity",
		`""`: "", `"\\\\\""`: `\\"`,
	} {
		s := &scanner{data: []byte(text)}
		got := s.str()
		s.end()
		if s.err != nil || got != want {
			t.Errorf("%s is %q, %v", text, got, s.err)
		}
		s = &scanner{data: []byte(text)}
		if s.skip(); s.err != nil || s.pos != len(text) {
			t.Errorf("skipping %s stops at %d: %v", text, s.pos, s.err)
		}
	}
	for _, text := range []string{`"`, `"a`, `"a\"`, `"\x"`, `"\u12"`, `a`} {
		s := &scanner{data: []byte(text)}
		if v := s.str(); s.err == nil {
			t.Errorf("%s gives %q", text, v)
		}
	}
}

// TestScannerNulls checks that a null member is the same as none.
func TestScannerNulls(t *testing.T) {
	s := &scanner{data: []byte(
		`{"a": null, "b": 9223372036854775807, "c": [null, {"x": NaN}], "d": -9223372036854775808}`)}
	var keys []string
	s.object(func(key string) {
		keys = append(keys, key)
		switch key {
		case "b":
			if s.int() != math.MaxInt64 {
				t.Error("b is wrong")
			}
		case "d":
			if s.int() != math.MinInt64 {
				t.Error("d is wrong")
			}
		default:
			s.skip()
		}
	})
	s.end()
	if s.err != nil || strings.Join(keys, "") != "bcd" {
		t.Errorf("keys %v, %v", keys, s.err)
	}
}

func TestLocations(t *testing.T) {
	const lib = "/usr/lib/python3/dist-packages/"
	frame := func(file, line string) string {
		return `  File "` + file + `", line ` + line + ", in forward\n    x = 1\n"
	}
	for _, c := range []struct {
		trace, file string
		line        int
	}{
		{frame("/home/me/net.py", "12"), "net.py", 12},
		{frame("/home/me/net.py", "12") + frame(lib+"torch/nn/modules/linear.py", "134"),
			"net.py", 12},
		{frame("/home/me/net.py", "12") + frame("<eval_with_key>.13", "5"), "net.py", 12},
		{frame("a.py", "1") + frame(lib+"torchvision/models/resnet.py", "7"), "resnet.py", 7},
		{frame("a.py", "1") + frame(lib+"torch/_higher_order_ops/scan.py", "7") + frame("b.py",
			"2"), "b.py", 2},
		{frame(`C:\me\net.py`, "3") + frame(`C:\Python\site-packages\torch\nn\functional.py`, "9"),
			"net.py", 3},
		{frame("/src/pytorch/torch/nn/functional.py", "9"), "", 0},
		{frame("/home/me/torch/train.py", "4"), "train.py", 4},
		{frame("torch/fx/passes/runtime_assert.py", "24"), "", 0},
		{`File "x.py", line 99999999999999999999, in f`, "", 0},
		{"", "", 0},
	} {
		if file, line := innermostFrame(c.trace); file != c.file || line != c.line {
			t.Errorf("%q: %s:%d, want %s:%d", c.trace, file, line, c.file, c.line)
		}
	}
	for stack, want := range map[string]string{
		"L__self__,,m.LeNet;L__self__c1,c1,torch.nn.modules.conv.Conv2d":                 "c1",
		"L__self__,,m.LeNet;L__s___c1,L['s'].c1,torch.nn.modules.conv.Conv2d":            "c1",
		"k,getattr(L['fn'], '0'),torch.nn.Linear":                                        "0",
		"k,getattr(getattr(L['s'].f, '0').conv, '12').bn,torch.nn.BatchNorm2d":           "f.0.conv.12.bn",
		"a,layers.0.attn,m.Attention[int, (str, x)]":                                     "layers.0.attn",
		"_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata": "",
		"": "", ",,": "", ";": "", "k,getattr(x": "getattr(x", "k,getattr(x, y": "getattr(x, y",
	} {
		if got := innermostModule(stack); got != want {
			t.Errorf("%q: %q, want %q", stack, got, want)
		}
	}
}
