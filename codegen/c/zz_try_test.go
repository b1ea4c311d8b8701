package c_test

import (
	"os"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
)

func TestTry(t *testing.T) {
	path := os.Getenv("TRY")
	if path == "" {
		t.Skip("TRY is not set")
	}
	p, closer, err := compile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Lang: "c", Name: os.Getenv("NAME"), Untuned: os.Getenv("UNTUNED") != ""})
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(os.Getenv("OUT")); err != nil {
		t.Fatal(err)
	}
}
