module github.com/etgen/etgen/golden/backends/etgen

go 1.26.0

require github.com/etgen/etgen v0.0.0

require (
	github.com/dave/jennifer v1.7.1 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/etgen/etgen => ../../..
