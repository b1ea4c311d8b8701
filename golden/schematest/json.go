package schematest

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/etgen/etgen/ir/foreign"
)

const module = "github.com/etgen/etgen/"

// JSON holds schema.json beside the test against the type of value: it is the JSON Schema of the
// type, with the comments of packages. Each of these is its path in the module, and its folder as
// seen from the test. The first one is the test's own. With update the file is written anew. What
// JSON returns holds the JSON of a value against the schema.
func JSON(t testing.TB, value any, update bool, packages ...[2]string) (meets func(any) error) {
	t.Helper()
	text := schemaOf(t, value, packages)
	if update {
		if err := os.WriteFile("schema.json", text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile("schema.json"); err != nil || !bytes.Equal(old, text) {
		t.Errorf("schema.json is out of date: go test ./%s -run TestSchema -update (%v)",
			packages[0][0], err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(value any) error {
		out, err := foreign.JSON(value)
		if err != nil {
			return err
		}
		read, err := validator.UnmarshalJSON(bytes.NewReader(out))
		if err != nil {
			return err
		}
		return s.Validate(read)
	}
}

// schemaOf makes the schema of value's type and of what its comments say.
func schemaOf(t testing.TB, value any, packages [][2]string) []byte {
	t.Helper()
	own := reflect.TypeOf(value).Elem().String()
	own = own[:strings.Index(own, ".")+1]
	r := &jsonschema.Reflector{AllowAdditionalProperties: true,
		Mapper: func(x reflect.Type) *jsonschema.Schema {
			if x == reflect.TypeFor[foreign.Text]() {
				return &jsonschema.Schema{Type: "string"}
			}
			return nil
		}, Namer: func(x reflect.Type) string { return strings.TrimPrefix(x.String(), own) }}
	for _, p := range packages {
		if err := r.AddGoComments(module+p[0], p[1]); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(value)
	s.ID = jsonschema.ID("https://" + module + packages[0][0] + "/schema.json")
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
