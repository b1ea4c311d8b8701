package compile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
)

// wrong are files in which PyTorch recorded a type that its own result does not
// have, which checkTypes is there to refuse.
var wrong = []string{
	"ops/unique_consecutive/54/model.pt2", // the rank, for a negative dim
}

// What real files record is what follows.
func TestCheckTypesAccepts(t *testing.T) {
	files := 0
	for _, root := range []string{"../../golden/cases", "../../../shared"} {
		if _, err := os.Stat(root); err != nil {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".pt2" || !d.Type().IsRegular() {
				return err
			}
			p, closer, err := pt2.Read(path)
			if err != nil {
				return err
			}
			defer closer.Close()
			files++
			err = checkTypes(ops.Standard(), p)
			expected := slices.ContainsFunc(wrong, func(w string) bool { return strings.HasSuffix(filepath.ToSlash(path), w) })
			if (err != nil) != expected {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("%d files", files)
	}
}
