package page

import (
	"embed"
	"encoding/json"
	"io"
	"strings"
)

//go:embed web
var web embed.FS

// scripts are the files of the page's own script, in their order.
var scripts = []string{"core.js", "graph.js", "memory.js", "views.js", "code.js", "main.js"}

// HTML writes the page. The data is JSON, in which nothing ends the element that it is in: the
// characters that HTML knows are escaped.
func (d *Data) HTML(to io.Writer) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	file := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			data, err := web.ReadFile("web/" + name)
			if err != nil {
				panic(err) // it is embedded
			}
			b.Write(data)
		}
		return b.String()
	}
	_, err = strings.NewReplacer("{{style}}", file("page.css"), "{{data}}", string(text),
		"{{dagre}}", file("dagre.min.js"), "{{licence}}", file("dagre.LICENSE"),
		"{{script}}", file(scripts...)).WriteString(to, file("page.html"))
	return err
}
