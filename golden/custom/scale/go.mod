module github.com/etgen/etgen/golden/custom/scale

go 1.24
