package compile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// mistaken are files with a record that is known to be PyTorch's own mistake.
var mistaken = []string{
	"unique_consecutive/54/model.pt2", // the rank, for a negative dim
	"autocast_inside/model.pt2",       // dtypes as they are without autocast
}

// What real files record is what follows; what is mistaken gives a warning.
func TestRecordsAreRight(t *testing.T) {
	files := 0
	for _, root := range []string{"../../golden/cases", "../../../shared/"}[:tier.Of(1, 2, 2)] {
		if _, err := os.Stat(root); err != nil {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "repro" {
				return filepath.SkipDir // files that are wrong
			}
			if err != nil || filepath.Ext(path) != ".pt2" || !d.Type().IsRegular() {
				return err
			}
			p, closer, err := pt2.Read(path)
			if err != nil {
				return err
			}
			defer closer.Close()
			files++
			last := slices.IndexFunc(lower.Functional.Passes, func(p lower.Pass) bool {
				return p.Name == lower.CheckRecords.Name
			})
			err = lower.Pipeline{Passes: lower.Functional.Passes[:last+1]}.Run(&lower.Context{
				Table: ops.Standard()}, p, nil)
			expected := slices.ContainsFunc(mistaken, func(w string) bool {
				return strings.HasSuffix(filepath.ToSlash(path), w)
			})
			if err != nil || (len(p.Warnings) > 0) != expected {
				t.Errorf("%s: error %v, warnings %v", path, err, p.Warnings)
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
