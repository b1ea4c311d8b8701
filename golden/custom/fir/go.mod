module github.com/etgen/etgen/golden/custom/fir

go 1.24
