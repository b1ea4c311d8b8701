package profile

import (
	"strings"
	"testing"
	"time"
)

const console = `boot
etgen-kernel 1 5 6 "of a" "profile" "that" "was cut off"
etgen-end
etgen-profile 1 1 0
etgen-kernel 0 1 7 "conv" "" "" ""
etgen-end
12:00:01 etgen-profile 1 2 8000000
12:00:01 etgen-kernel 0 10 16000000 "conv_relu" "conv, relu" "aten.conv2d.default, aten.relu.default" "net.py:3"
sensor: 5
12:00:02 etgen-kernel 1 10 8000000 "softmax" "softmax\n" "aten.softmax.int" "net \"2\".py:4"` + "\r\n" + `etgen-end
`

// The last profile of a console counts; its times are by its clock.
func TestReadLines(t *testing.T) {
	p, err := ReadLines([]byte(console))
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != 3*time.Second || p.Ticks || len(p.Steps) != 2 || p.Steps[0].Runs != 10 {
		t.Errorf("%+v", p)
	}
	for by, want := range map[By]string{
		Operator:    "2s  66.7 %  10 ×  aten.conv2d.default, aten.relu.default",
		Line:        `1s  33.3 %  10 ×  net "2".py:4`,
		Instruction: "1s  33.3 %  10 ×  1 softmax: aten.softmax.int",
	} {
		var b strings.Builder
		if err := p.Text(&b, by); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, by %s, want %q:\n%s", err, by, want, b.String())
		}
	}
	first, _, _ := strings.Cut(console, "12:00")
	if p, err = ReadLines([]byte(first)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.Text(&b, Operator); err != nil || !strings.Contains(b.String(),
		"7 ticks  100.0 %  1 ×  conv") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// What a reset cuts off is passed over if a whole profile follows, on a line of its own or not.
func TestReadLinesDamaged(t *testing.T) {
	const whole = "etgen-profile 1 1 0\netgen-kernel 0 1 7 \"a\" \"\" \"\" \"etgen-profile 1 " +
		"x.py:3\"\netgen-end\n"
	for _, cut := range []string{"etgen-kernel 0 1 \x00\n", "etgen-kernel 0 ", "etgen-", "etgen-end\n",
		"etgen-profile 1 ", "etgen-profile 9 0 0\netgen-kernel 5\netgen-end\n"} {
		cut = "etgen-profile 1 1 0\n" + cut
		p, err := ReadLines([]byte(cut + whole))
		if err != nil || len(p.Steps) != 1 || p.Total != 7 {
			t.Errorf("%q: %v, %+v", cut, err, p)
		}
	}
	if _, err := ReadLines([]byte(whole + "etgen-profile 1 1 0\netgen-end\n")); err == nil {
		t.Error("the last profile has no kernels")
	}
}

// What is no profile is an error that names the line.
func TestReadLinesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "no profile ends",
		"etgen-profile 1 0 0\n":          "no profile ends",
		"etgen-profile 2 0 0\n":          "line 1: \"etgen-profile 2 0 0\": take version 1",
		"etgen-profile 1 -1 0\n":         "take version 1",
		"etgen-profile 1 1 0\netgen-end": "line 2: etgen-end: 0 of 1 kernels",
		"etgen-profile 1 1 0\netgen-kernel 1 1 1 \"\" \"\" \"\" \"\"": "after 0 of 1 kernels",
		"etgen-profile 1 1 0\netgen-kernel 0 1 1 \"\" \"\" \"\"":      "in quotation marks",
		"etgen-profile 1 2 1\netgen-kernel 0 1 18446744073709551615 \"\" \"\" \"\" \"\"\n" +
			"etgen-kernel 1 1 1 \"\" \"\" \"\" \"\"": "too long",
	} {
		if _, err := ReadLines([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte(console))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadLines(data)
		if err != nil {
			return
		}
		for _, by := range Keys {
			if err := p.Text(new(strings.Builder), By(by)); err != nil {
				t.Error(err)
			}
		}
	})
}
