// Command etgen is etgen with a backend of one's own: here with the reference backend.
package main

import (
	"github.com/etgen/etgen/cmd/cli"
	"github.com/etgen/etgen/golden/backends/reference"
)

func main() { cli.Main(reference.Backend{}) }
