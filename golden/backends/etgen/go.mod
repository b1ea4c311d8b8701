module github.com/etgen/etgen/golden/backends/etgen

go 1.26.0

require github.com/etgen/etgen v0.0.0

replace github.com/etgen/etgen => ../../..
