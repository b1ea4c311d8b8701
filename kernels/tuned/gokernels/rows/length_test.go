package rows

import (
	"testing"

	"github.com/etgen/etgen/kernels/tuned"
)

// Which results of a patch stand alone in a tile is known where patches are chosen.
func TestLengths(t *testing.T) {
	for n := range 200 {
		for _, most := range []int{2, 6, maxRows} {
			if got := lengths(n+1, most); int64(got) != tuned.TileLength(int64(n+1), int64(most)) {
				t.Errorf("tiles of %d of %d rows, patches count on %d", got, n+1,
					tuned.TileLength(int64(n+1), int64(most)))
			}
		}
	}
}
