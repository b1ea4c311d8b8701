package lower

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// An error begins with the name of the file, whatever stands around the one about the node.
func TestInFile(t *testing.T) {
	n := &ir.Node{Name: "n", Op: "aten.relu.default"}
	for _, err := range []error{
		errors.New("it has no methods"),
		ir.ErrorAt("", n, errors.New("wrong")),
		fmt.Errorf("method forward: %w", ir.ErrorAt("", n, errors.New("wrong"))),
		errors.Join(ir.ErrorAt("", n, errors.New("wrong")), errors.New("and more")),
	} {
		if got := InFile("m.pt2", err).Error(); !strings.HasPrefix(got, "m.pt2: ") ||
			strings.Count(got, "m.pt2") != 1 {
			t.Errorf("%v: %s", err, got)
		}
	}
}
