package cpu

import (
	"flag"
	"log"
	"os"
	"regexp"

	"github.com/mmcloughlin/avo/build"
)

var columns = regexp.MustCompile(" {2,}")

// GenerateFile writes the file of the flag out, as avo's Generate does, without the spaces that
// line operands up: etgen's binary and generated packages hold the text.
func GenerateFile() {
	build.Generate()
	path := flag.Lookup("out").Value.String()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, columns.ReplaceAll(text, []byte(" ")), 0o666)
	}
	if err != nil {
		log.Fatal(err)
	}
}
