// Package page makes a page of what etgen knows of a model: its graph before and after lowering,
// weights, kernels, memory over time, flash and code, linked with each other by node. A page is
// one file of HTML, which loads nothing, or the same data as JSON.
//
// New is the door. The layout of graphs is dagre's, in the browser; the rest of the page are
// the scripts of folder web, which show the data and compute nothing that is in it.
package page

import (
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/plan"
)

// Version is that of the form of Data.
const Version = 1

// Data is what a page shows. Numbers that refer to other things are indices of lists; -1 is none.
type Data struct {
	Version  int            `json:"etgen_page"`
	Command  foreign.Text   `json:"command"` // with the flags that make a difference
	Takes    *report.Report `json:"takes"`   // the layers are Takes.Methods[i].Layers
	Methods  []Method       `json:"methods"`
	Weights  []Weight       `json:"weights"`
	Code     Code           `json:"code"`
	Measured []Measured     `json:"measured,omitempty"`

	Quantization *Quantization `json:"quantization,omitempty"`
	Delegates    []Delegate    `json:"delegates,omitempty"`
	// Rest are the nodes that backends were asked for and did not take.
	Rest []Rest `json:"not_delegated,omitempty"`
}

// Method is an entry point: parallel to the methods of Takes.
type Method struct {
	Name   foreign.Text `json:"name"`
	Before Graph        `json:"before"` // as it was read
	After  Graph        `json:"after"`  // as native form is built from it
	Calls  []Call       `json:"calls"`  // of kernels, in the order of the text
	Memory *Memory      `json:"memory,omitempty"`
}

// Graph is a graph with its nested regions.
type Graph struct {
	Dialect string   `json:"dialect"`
	Regions []Region `json:"regions"` // the first is all of it; outer ones come first
	Nodes   []Node   `json:"nodes"`   // of all regions, in the order of execution
	Values  []Value  `json:"values"`
}

// Region is a list of nodes: of a branch, of the body of a loop.
type Region struct {
	Node    int    `json:"node"` // which it is in
	Name    string `json:"name"`
	Inputs  []int  `json:"inputs"`  // values
	Outputs []int  `json:"outputs"` // values
}

// Node is an operation.
type Node struct {
	Name   foreign.Text `json:"name"`
	Op     foreign.Text `json:"op"`
	Region int          `json:"region"`
	Module foreign.Text `json:"module"`
	Line   foreign.Text `json:"line"` // of the model's Python source
	Reads  []int        `json:"reads"`
	Makes  []int        `json:"makes"`
	Args   foreign.Text `json:"args"` // in the text form
	// From are the nodes of Before that a node of After came from; none if its place has many.
	From     []int `json:"from,omitempty"`
	Delegate *int  `json:"delegate,omitempty"` // which it calls
	MACs     int64 `json:"macs,omitempty"`
}

// Value is a tensor or scalar.
type Value struct {
	Name   foreign.Text `json:"name"`
	Type   foreign.Text `json:"type"` // in the text form
	Kind   string       `json:"kind"` // node, input, parameter, buffer, constant
	Weight int          `json:"weight"`
}

// Weight is a constant of a graph.
type Weight struct {
	Name  foreign.Text `json:"name"`
	Type  foreign.Text `json:"type"`
	Bytes int64        `json:"bytes"`
	Count int64        `json:"count"`
	Zeros int64        `json:"zeros"`
	Least float64      `json:"min"`
	Most  float64      `json:"max"`
	Mean  float64      `json:"mean"`
	Sigma float64      `json:"std"`
	// Bins counts elements between Least and Most in equal steps; none if they are equal. What is
	// no finite number is in none.
	Bins []int64 `json:"bins"`
	Odd  int64   `json:"not_finite,omitempty"`
	// Lowered says that it is not of the model as it was read.
	Lowered bool `json:"lowered,omitempty"`
}

// Call is the call of a kernel.
type Call struct {
	Layer  int    `json:"layer"`
	Kernel int    `json:"kernel"` // of Code
	Nodes  []int  `json:"nodes"`  // of After
	Step   int    `json:"step"`   // of Memory
	Lines  *Lines `json:"lines,omitempty"`
	// Times is how often the loops around it execute it, those that the data ends once.
	Times  int64 `json:"times"`
	Reads  int64 `json:"reads"` // bytes of operands in one execution, each once
	Writes int64 `json:"writes"`
	// Arena are the buffers of Memory that it uses.
	Arena []int `json:"arena"`
}

// Lines are the lines of a text, counted from 1.
type Lines struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Memory is the planned memory of a method.
type Memory struct {
	Steps   int      `json:"steps"`
	Banks   []Bank   `json:"banks"`
	Buffers []Buffer `json:"buffers"`
}

// Bank is a memory that buffers lie in; the arena is one if it is not divided.
type Bank struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// LowerBound is what no plan of the same buffers can be below, Peak the first step at which
	// so much is wanted.
	LowerBound int64 `json:"lower_bound"`
	Peak       int   `json:"peak_step"`
}

// Buffer is a rectangle of bytes by steps.
type Buffer struct {
	Name   foreign.Text `json:"name"`
	Type   string       `json:"type"`
	Bank   int          `json:"bank"`
	Offset int64        `json:"offset"`
	Bytes  int64        `json:"bytes"`
	Live   []plan.Span  `json:"live"`
}

// Code is the generated text.
type Code struct {
	Language string   `json:"language"`
	Name     string   `json:"name"` // of the file
	Text     string   `json:"text"`
	Cut      bool     `json:"cut,omitempty"` // it is longer
	Kernels  []Kernel `json:"kernels"`
}

// Kernel is a function.
type Kernel struct {
	Name  string       `json:"name"` // as the code has it
	Doc   foreign.Text `json:"doc"`
	Tuned bool         `json:"tuned"` // written by hand, not made from a definition
	Lines *Lines       `json:"lines,omitempty"`
}

// Measured is what was measured of calls.
type Measured struct {
	How string `json:"how"`
	// Totals are the medians of calls without instruments, by method.
	Totals []float64 `json:"totals_us"`
	// Layers are the medians of what the calls of each layer take within a call of the method, by
	// method and layer; 0 if it is not known.
	Layers [][]float64 `json:"layers_us"`
}

// Quantization is how a model is quantized.
type Quantization struct {
	Scheme string      `json:"scheme"`
	Values []Quantized `json:"values"`
	Errors []Error     `json:"errors,omitempty"` // the worst layer first
}

// Quantized is a value that is integers.
type Quantized struct {
	Method int          `json:"method"`
	Value  foreign.Text `json:"value"`
	DType  foreign.Text `json:"dtype"`
	Weight bool         `json:"weight,omitempty"`
	// Least and Most are the ends of the range that the integers cover, or that was observed.
	Least float64 `json:"min"`
	Most  float64 `json:"max"`
	// Scale is that of all, or the smallest of Scales; so is ZeroPoint.
	Scale     float64      `json:"scale"`
	Scales    int          `json:"scales"`
	Largest   float64      `json:"largest_scale"`
	ZeroPoint int64        `json:"zero_point"`
	LastZero  int64        `json:"largest_zero_point"`
	How       foreign.Text `json:"how,omitempty"` // dynamic, or in groups
}

// Error is what a layer brings of error.
type Error struct {
	Method int          `json:"method"`
	Layer  foreign.Text `json:"layer"`
	Op     foreign.Text `json:"op"`
	Line   foreign.Text `json:"line"`
	Float  bool         `json:"float,omitempty"` // it was left in float32
	// Own is signal over noise in decibels of the layer alone, Total with what has come together
	// behind it; 999 is no noise.
	Own   float64 `json:"own_sqnr_db"`
	Total float64 `json:"total_sqnr_db"`
}

// Delegate is a part that a backend runs.
type Delegate struct {
	Name    foreign.Text `json:"name"`
	Backend foreign.Text `json:"backend"`
	Bytes   int64        `json:"bytes"`
	// Nodes are those of Before that it took, by method.
	Nodes [][]int `json:"nodes"`
	// Origins are the operators that its events stand for, if it tells.
	Origins []foreign.Text `json:"origins,omitempty"`
}

// Rest is a node of Before that no backend took.
type Rest struct {
	Method int          `json:"method"`
	Node   int          `json:"node"`
	Why    foreign.Text `json:"why"`
}
