module github.com/etgen/etgen

go 1.26
