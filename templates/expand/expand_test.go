package expand

import (
	"errors"
	"strings"
	"testing"
	"text/template"
)

type data struct {
	Name  string
	Empty string
	Zero  int
	On    bool
	Inner *data
	List  []data
	Bytes []int
	Func  func(string) string
}

// Templates come to what text/template makes of them.
func TestAsTextTemplate(t *testing.T) {
	d := data{Name: "x", On: true, Inner: &data{Name: "in"}, List: []data{{Name: "a"}, {Name: "b"}},
		Bytes: []int{4, 9}, Func: strings.ToUpper}
	functions := Functions{"twice": func(s string) string { return s + s },
		"join": func(n int64, list ...string) (string, error) {
			if n < 0 {
				return "", errors.New("below 0")
			}
			return strings.Join(list, "+")[n:], nil
		}}
	for _, text := range []string{
		"", "plain {{.Name}} {{- .Inner.Name -}} end{{/* comment */}}", "{{.}}{{1}}{{true}}",
		"{{if .On}}on{{end}}{{if .Empty}}empty{{else if .Zero}}zero{{else}}no{{end}}",
		"{{if not .Zero}}a{{end}}{{if .List}}b{{end}}{{if .Inner.Bytes}}c{{end}}{{if " +
			".Inner.Inner}}d{{end}}",
		"{{with .Inner}}{{.Name}}{{$.Name}}{{end}}{{with .Empty}}no{{else}}else{{end}}",
		"{{range .List}}{{.Name}},{{$.Name}};{{end}}{{range .Inner.List}}no{{else}}none{{end}}",
		"{{range $i, $x := .Bytes}}{{$i}}{{$x}}{{.}} {{end}}{{range $x := .Bytes}}{{$x}}{{end}}",
		"{{range $i, $x := .List}}{{if $i}}, {{end}}{{$y := $x.Name}}{{$y}}{{end}}",
		`{{$a := "1"}}{{if .On}}{{$a = "2"}}{{$a}}{{$a := "3"}}{{$a}}{{end}}{{$a}}`,
		`{{$a := "1"}}{{range .Bytes}}{{$a}}{{$a = "2"}}{{end}}{{$a}}`,
		`{{and .On .Name}} {{and .Zero .Name}} {{or .Empty .Name}} {{or .Empty .Zero}} {{and 1 2 3}}`,
		`{{and (not .Zero) (eq .Name "x")}}{{eq .Zero 0}}{{eq .Name "y"}}`,
		`{{printf "%s(%d)%%" .Name 3}}{{call .Func "low"}}{{twice "ab"}}{{twice (twice .Name)}}`,
		`{{join 0}}{{join 2 "a" .Name (printf "%d" 7)}}`, `{{join 0 "a"}}{{join -1}}`,
		`{{define "t"}}<{{.}}{{$}}>{{end}}{{template "t" .Name}}{{template "t" .Inner.Name}}`,
		`{{define "t"}}{{if .On}}{{.Name}}{{end}}{{end}}{{range .List}}{{template "t" $}}{{end}}`,
		"{{not}}", "{{eq 1}}", "{{.None}}", "{{.Inner.None}}", `{{template "none" .}}`,
		"{{.Inner.Inner.Name}}",
	} {
		var want strings.Builder
		theirs, err := template.New("m").Funcs(template.FuncMap(functions)).Parse(text)
		if err == nil {
			err = theirs.Execute(&want, d)
		}
		got := ""
		ours, err2 := Parse("m", text)
		if err2 == nil {
			got, err2 = ours.Execute("m", d, functions)
		}
		if (err != nil) != (err2 != nil) || err == nil && got != want.String() {
			t.Errorf("%s: %q and %v, text/template has %q and %v", text, got, err2, want.String(), err)
		}
	}
}

// A function stands for a method of the data.
func TestFunctionsAsMethods(t *testing.T) {
	list, err := Parse("m",
		`{{.Twice "a"}}{{$.Twice .Name}}{{range .List}}{{.Name}}{{$.Twice "b"}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := list.Execute("m", data{Name: "x", List: []data{{Name: "y"}}},
		Functions{"Twice": func(s string) string { return s + s }})
	if err != nil || got != "aaxxybb" {
		t.Errorf("%q, %v", got, err)
	}
}

// What the language lacks is an error.
func TestLacks(t *testing.T) {
	for _, text := range []string{`{{"a" | print}}`, "{{break}}", "{{range .}}{{break}}{{end}}",
		"{{nil}}", "{{1.5}}", "{{range $x = .List}}{{end}}", "{{none}}", "{{.None.None}}"} {
		list, err := Parse("m", text)
		if err == nil {
			text, err = list.Execute("m", data{List: []data{{}}}, nil)
		}
		if err == nil {
			t.Errorf("no error: %s", text)
		}
	}
}
