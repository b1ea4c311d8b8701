package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/golang"
)

// goFolder says where a model's Go package goes: to dir, or without one to the
// working folder if there is a Go package, as generators do that go generate
// runs; and of which package it becomes part there, "" for one of its own. Name is
// the model's. A package main is joined by none: it has a sub-folder for it.
func goFolder(dir, name string) (folder, pkg string, err error) {
	folder, own := cmp.Or(dir, "."), golang.PackageName(name)
	if pkg, err = golang.PackageIn(folder, codegen.KindGo); err != nil {
		return "", "", err
	}
	generating := false
	if pkg == "" && filepath.Clean(folder) == "." {
		// Go generate reads files that no build takes, too.
		pkg = strings.TrimSuffix(os.Getenv("GOPACKAGE"), "_test")
		if generating = pkg != ""; pkg == "main" {
			pkg = ""
		}
	}
	switch {
	case pkg == "" && dir == "" && !generating:
		return "", "", checkFolder(dir)
	case pkg == "main" && dir == "":
		return goFolder(own, name)
	case pkg == "main":
		return "", "",
			usageError(
				"-o %s: the folder has package main, which the package of a model cannot be part of: take "+
					"-o %s", dir, filepath.Join(dir, own))
	case pkg == own:
		pkg = ""
	}
	return folder, pkg, nil
}

// goPackage is the package of a registry in the folder dir.
func goPackage(dir string) (string, error) {
	pkg, err := golang.PackageIn(dir, codegen.KindRegistry)
	if env := os.Getenv("GOPACKAGE"); pkg == "" && (env != "main" || filepath.Clean(dir) == ".") {
		pkg = strings.TrimSuffix(env, "_test")
	}
	return cmp.Or(pkg, "kernels"), err
}
