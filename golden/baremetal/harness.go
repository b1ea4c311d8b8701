package baremetal

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/templates/expand"
)

// Model describes a generated package and the function of it that a harness
// calls.
type Model struct {
	Header string // "lenet.h"
	Prefix string // "lenet": names lenet_forward, lenet_status, LENET_ARENA_SIZE
	Method string // "forward"
	Args   []Arg  // in the order of the C declaration
	Rows   int    // if not 0, of the input: the function is called with each of them
	Banks  []Bank // in which the arena is; none: it is one
}

// Bank is a memory with an arena of its own.
type Bank struct {
	Name    string // as in PREFIX_arenas
	Section string // that the linker script places; "" is that of all variables
}

// Arg is one argument of the function.
type Arg struct {
	Role  Role
	Bytes int // size of the buffer of an Output or InOut, at its bound, or of a row
}

// Role says what an argument is, and where its value comes from.
type Role string

// The roles of arguments.
const (
	Input  Role = "input"  // pointer to const data: the next of Run.Inputs
	Row    Role = "row"    // the next row of the next of Run.Inputs, and how many rows that is
	Output Role = "output" // buffer, printed after the call
	InOut  Role = "inout"  // pointer to data, the next of Run.Inputs; printed after the call
	Value  Role = "value"  // the next of Run.Values
	Dims   Role = "dims"   // pointer to a PREFIX_METHOD_sizes of value Run.Dims
	State  Role = "state"  // pointer to the PREFIX_state that all runs share
	// PREFIX_ARENA_SIZE bytes, filled with junk before each run; or the PREFIX_arenas of
	// Model.Banks
	Arena Role = "arena"
)

// RunInput is one call of the function.
type RunInput struct {
	Inputs      []string // raw files, one per Input and InOut
	Values      []string // C expressions, one per Value
	Dims        string   // C initialiser of the sizes, as "{ .batch = 3 }"
	Reset       bool     // reset the state before; that is always done before the first run
	OutputBytes []int    // bytes to print of each Output and InOut; nil for the whole buffers
}

//go:embed harness.c.tmpl
var harnessTemplate string

// Harness writes the C text of a main program that calls the model once per
// run. It fills the arena, the outputs and guard zones behind them before each
// call, so that a package which relies on old contents or writes past an end is
// found out, and it measures the stack that the call takes.
func (m Model) Harness(runs []RunInput) (string, error) {
	if m.Header == "" || m.Prefix == "" || m.Method == "" {
		return "", errors.New("baremetal: a model needs a header, a prefix and a method")
	}
	data := harnessData{Model: m, Upper: strings.ToUpper(m.Prefix)}
	for _, arg := range m.Args {
		data.HasState = data.HasState || arg.Role == State
		if arg.Role == Arena {
			data.Arenas = m.arenas()
		}
		if arg.Role == Output {
			data.Outputs = append(data.Outputs, arg.Bytes)
		}
	}
	for i, run := range runs {
		call, err := m.call(i, run)
		if err != nil {
			return "", fmt.Errorf("baremetal: %s, run %d: %w", m.Prefix, i, err)
		}
		data.Runs = append(data.Runs, call)
	}
	parsed, err := expand.Parse("harness", harnessTemplate)
	if err != nil {
		return "", err
	}
	return parsed.Execute("harness", data, nil)
}

// harnessData is what the template sees.
type harnessData struct {
	Model
	Upper    string
	HasState bool
	Arenas   []harnessArena
	Outputs  []int // bytes of each output buffer
	Runs     []harnessRun
}

// harnessArena is a variable, whose size a macro has.
type harnessArena struct{ Name, Member, Macro, Section string }

func (m Model) arenas() (list []harnessArena) {
	upper := strings.ToUpper(m.Prefix)
	for _, b := range m.Banks {
		list = append(list, harnessArena{"arena_" + b.Name, b.Name,
			upper + "_ARENA_" + strings.ToUpper(b.Name) + "_SIZE", b.Section})
	}
	if list == nil {
		list = []harnessArena{{Name: "arena", Macro: upper + "_ARENA_SIZE"}}
	}
	return list
}

type harnessRun struct {
	Reset  bool
	Dims   string
	Inputs []harnessInput
	Args   []string // C expressions
	Print  []harnessPrint
}

type harnessInput struct{ Name, Quoted string }

type harnessPrint struct {
	Name  string
	Bytes int
}

// call binds the arguments of one run.
func (m Model) call(index int, run RunInput) (harnessRun, error) {
	call := harnessRun{Reset: run.Reset || index == 0, Dims: run.Dims}
	values := run.Values
	outputs := 0
	shown := func(name string, whole int) error {
		size := whole
		if run.OutputBytes != nil {
			if len(call.Print) >= len(run.OutputBytes) {
				return errors.New("fewer OutputBytes than outputs")
			}
			size = run.OutputBytes[len(call.Print)]
		}
		if size < 0 || size > whole {
			return fmt.Errorf("%d bytes to print of a buffer of %d", size, whole)
		}
		call.Print = append(call.Print, harnessPrint{name, size})
		return nil
	}
	for _, arg := range m.Args {
		var expr string
		var err error
		switch arg.Role {
		case Input, InOut, Row:
			if len(call.Inputs) >= len(run.Inputs) {
				return call, errors.New("fewer input files than inputs")
			}
			var path string
			path, err = filepath.Abs(run.Inputs[len(call.Inputs)])
			name := fmt.Sprintf("run%d_input%d", index, len(call.Inputs))
			expr = untyped(name)
			if arg.Role == Row {
				expr = fmt.Sprintf("(void *)(%s + %d * row), 1", name, arg.Bytes)
			}
			call.Inputs = append(call.Inputs, harnessInput{name, quoteTwice(path)})
			if err == nil && arg.Role == InOut {
				err = shown(name, arg.Bytes)
			}
		case Output:
			name := fmt.Sprintf("output%d", outputs)
			expr = untyped(name)
			outputs++
			err = shown(name, arg.Bytes)
		case Value:
			if len(values) == 0 {
				return call, errors.New("fewer Values than value arguments")
			}
			expr, values = values[0], values[1:]
		case Dims:
			if run.Dims == "" {
				return call, errors.New("no Dims")
			}
			expr = "&dims"
		case State:
			expr = "&state"
		case Arena:
			if expr = "arena"; m.Banks != nil {
				expr = "&arenas"
			}
		default:
			return call, fmt.Errorf("unknown role %q", arg.Role)
		}
		if err != nil {
			return call, err
		}
		call.Args = append(call.Args, expr)
	}
	if len(call.Inputs) != len(run.Inputs) || len(values) != 0 {
		return call, errors.New("more input files or Values than arguments")
	}
	return call, nil
}

// quoteTwice quotes a path for the assembler and then for the C string that
// holds the assembler text, without the outer quotes.
func quoteTwice(path string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return escape.Replace(`"` + escape.Replace(path) + `"`)
}

// untyped makes a C pointer that fits any parameter.
func untyped(name string) string { return "(void *)" + name }
