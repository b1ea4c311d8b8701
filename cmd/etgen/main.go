// Command etgen compiles PyTorch programs ahead of time to C and Go.
package main

import "github.com/etgen/etgen/cmd/cli"

func main() { cli.Main() }
