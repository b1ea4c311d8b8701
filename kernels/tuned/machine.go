package tuned

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/seq"
)

// Machine is a row of the table of targets: what --target names, and all that code
// depends on of a processor. Nothing else asks for its name.
type Machine struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // in a few words
	// Languages are those that the machine means something for: the Go compiler knows no
	// microcontroller.
	Languages []*Language `json:"languages"`

	// What the texts of kernels may use of the processor. Open says that the compiler's
	// macros decide; the other fields have no effect then.
	Open      bool `json:"open"`
	Vectors   int  `json:"vectors"`   // bits of the vectors that kernels use; 0: none
	Registers int  `json:"registers"` // of floating numbers or vectors; 0: none
	Floats    bool `json:"floats"`    // float32 in hardware, where the unit is not left out
	FMA       bool `json:"fma"`       // fused multiply-add, likewise
	DSP       bool `json:"dsp"`       // two products of 16-bit integers and their sum at once
	// MVE is Arm's vector extension of microcontrollers: C has its functions from <arm_mve.h>.
	MVE bool `json:"mve"`

	// Dot says that vectors compute four products of bytes and their sum at once.
	Dot bool `json:"dot"`

	// Low says that most instructions reach eight registers: a row of integers at a time is
	// faster than two, whose sums do not fit.
	Low bool `json:"low"`

	// Tile is the register tile of C's kernels. It is as large as registers allow: sums
	// that do not fit are stored and loaded again for every product.
	Tile Tile `json:"tile"`
	// Microcontroller says that memory is scarce, and reading it costs the same
	// everywhere: code is optimised for size unless speed is asked for, images are made in
	// patches where that saves arena, and no pass takes memory for speed.
	Microcontroller bool `json:"microcontroller"`

	// Compiler is the GNU compiler for the machine, "" if it is a host's gcc, and CompilerFlags
	// are what it wants besides Flag.
	Compiler      string   `json:"compiler,omitempty"`
	CompilerFlags []string `json:"compiler_flags,omitempty"`
	// Flag is what tells gcc and clang to compile for the machine; "" if any will do.
	Flag string `json:"flag"`
	// Undefined are macros of other machines: C for this machine omits their lines.
	// Defined are macros that gcc and clang define for this machine. If there are some, C
	// for it requires one of these compilers, and checks the macros.
	Defined   []string `json:"defined"`
	Undefined []string `json:"undefined"`
	// Assembly is that of Go packages for the machine, by architecture: a program in Go
	// finds out which of its vectors the processor has.
	Assembly []string `json:"assembly"`
}

// Tile is the register tile that a kernel's code works on: Rows of results by
// Cols, the columns being those of the packed weights. With Vector the code
// uses the widest vector registers its compiler has, which Cols fills, and
// takes the rows that suit them instead of Rows.
type Tile struct {
	Rows   int  `json:"rows"`
	Cols   int  `json:"cols"`
	Vector bool `json:"vector"`
}

// Pairs reports whether scalar code has tiles of two rows, too, and loops that need many registers:
// see Pairs of templates/c.Kernel.
func (t Tile) Pairs() bool { return !t.Vector && t.Rows > 4 }

var (
	vectorTile = Tile{Rows: 6, Cols: 16, Vector: true}
	// of a processor without a unit for floats, where every operation is a call
	callTile = Tile{Rows: 2, Cols: 2}
	floats16 = Tile{Rows: 2, Cols: 4} // of 16 floating registers
	floats32 = Tile{Rows: 4, Cols: 4}
	// of 32, where a float is one instruction
	floatsUnit = Tile{Rows: 6, Cols: 4}
)

// Macros that compilers define for some machines.
const (
	macroAVX512 = "__AVX512F__"
	macroARM64  = "__aarch64__"
	macroNEON   = "__ARM_NEON"
	macroDSP    = "__ARM_FEATURE_DSP"
	macroMVE    = "__ARM_FEATURE_MVE"
	macroThumb2 = "__thumb2__"
	macroRISCV  = "__riscv_flen"
	macroDot    = "__ARM_FEATURE_DOTPROD"
	macroSquare = "__ARM_FEATURE_MATMUL_INT8"
)

var (
	macrosVNNI   = []string{"__AVXVNNI__", "__AVX512VNNI__"}
	macrosX86    = []string{"__SSE__", "__SSE2__", "__AVX__", "__AVX2__", "__FMA__"}
	macrosFloats = []string{"__ARM_FP", "__ARM_FEATURE_FMA"} // of Arm
	macrosBytes  = []string{macroDot, macroSquare}
	macrosArm    = slices.Concat([]string{macroARM64, macroNEON}, macrosFloats)
)

// Machines is the table of targets.
func Machines() []*Machine { return slices.Clone(machines) }

var machines = []*Machine{
	open("generic", "whoever compiles the package decides"),
	open("native", "the same as generic"),
	{Name: "scalar", Doc: "any machine, without vectors", Languages: languages,
		Registers: 16, Floats: true, Tile: floats16},
	{Name: "neon", Doc: "64-bit Arm", Languages: languages, Vectors: 128, Registers: 32,
		Floats: true, FMA: true, Tile: vectorTile, Flag: "-march=armv8-a",
		Compiler:  "aarch64-linux-gnu-gcc",
		Defined:   []string{macroARM64, macroNEON},
		Undefined: slices.Concat(macrosX86, macrosVNNI, []string{macroAVX512, macroRISCV}, macrosBytes),
		Assembly:  []string{"arm64"}},
	{Name: "neon-dotprod", Doc: "64-bit Arm with SDOT: Cortex-A55, A75 and later, Apple A11 and later",
		Languages: []*Language{C}, Vectors: 128, Registers: 32, Floats: true, FMA: true, Dot: true,
		Tile: vectorTile, Compiler: "aarch64-linux-gnu-gcc", Flag: "-march=armv8.2-a+dotprod",
		Defined:   []string{macroARM64, macroNEON, macroDot},
		Undefined: slices.Concat(macrosX86, macrosVNNI, []string{macroAVX512, macroRISCV, macroSquare})},
	{Name: "neon-i8mm",
		Doc:       "64-bit Arm with SMMLA: Cortex-A510, A710, X2 and later, Neoverse V1, Apple M2",
		Languages: []*Language{C}, Vectors: 128, Registers: 32, Floats: true, FMA: true, Dot: true,
		Tile: vectorTile, Compiler: "aarch64-linux-gnu-gcc", Flag: "-march=armv8.2-a+dotprod+i8mm",
		Defined:   slices.Concat([]string{macroARM64, macroNEON}, macrosBytes),
		Undefined: slices.Concat(macrosX86, macrosVNNI, []string{macroAVX512, macroRISCV})},
	{Name: "x86-64-v3", Doc: "AVX2: Haswell, Zen and later", Languages: languages,
		Vectors: 256, Registers: 16, Floats: true, FMA: true, Tile: vectorTile,
		Flag: "-march=x86-64-v3", Defined: macrosX86,
		Undefined: slices.Concat(macrosArm, macrosVNNI, []string{macroRISCV, macroAVX512}, macrosBytes),
		Assembly:  []string{"amd64"}},
	{Name: "x86-64-v3-vnni", Doc: "AVX2 with AVX-VNNI: Alder Lake, Zen 5 and later",
		Languages: []*Language{C}, Vectors: 256, Registers: 16, Floats: true, FMA: true, Dot: true,
		Tile: vectorTile, Flag: "-march=x86-64-v3 -mavxvnni",
		Defined: slices.Concat(macrosX86, macrosVNNI[:1]),
		Undefined: slices.Concat(macrosArm, macrosVNNI[1:], []string{macroRISCV, macroAVX512},
			macrosBytes)},
	{Name: "x86-64-v4", Doc: "AVX-512: Skylake-X, Zen 4 and later", Languages: languages,
		Vectors: 512, Registers: 32, Floats: true, FMA: true, Tile: vectorTile,
		Flag: "-march=x86-64-v4", Defined: slices.Concat(macrosX86, []string{macroAVX512}),
		Undefined: slices.Concat(macrosArm, macrosVNNI, []string{macroRISCV}, macrosBytes),
		Assembly:  []string{"amd64"}},
	{Name: "x86-64-v4-vnni", Doc: "AVX-512 with VNNI: Ice Lake, Zen 4 and later",
		Languages: []*Language{C}, Vectors: 512, Registers: 32, Floats: true, FMA: true, Dot: true,
		Tile: vectorTile, Flag: "-march=x86-64-v4 -mavx512vnni",
		Defined:   slices.Concat(macrosX86, macrosVNNI[1:], []string{macroAVX512}),
		Undefined: slices.Concat(macrosArm, macrosVNNI[:1], []string{macroRISCV}, macrosBytes)},
	cortex("cortex-m0", Machine{Doc: "Armv6-M", Low: true, Tile: callTile}),
	cortex("cortex-m1", Machine{Doc: "Armv6-M", Low: true, Tile: floats32}),
	cortex("cortex-m3", Machine{Doc: "Armv7-M", Tile: floats32}),
	cortex("cortex-m4", withUnits("Armv7E-M")),
	cortex("cortex-m7", withUnits("Armv7E-M")),
	cortex("cortex-m23", Machine{Doc: "Armv8-M Baseline", Low: true, Tile: floats32}),
	cortex("cortex-m33", withUnits("Armv8-M Mainline")),
	cortex("cortex-m35", withUnits("Armv8-M Mainline: the Cortex-M35P")),
	cortex("cortex-m52", withVectors("Armv8.1-M with Helium")),
	cortex("cortex-m55", withVectors("Armv8.1-M with Helium")),
	cortex("cortex-m85", withVectors("Armv8.1-M with Helium")),
	{Name: "riscv32", Doc: "RV32IMAC", Languages: []*Language{C}, Tile: callTile,
		Microcontroller: true, Compiler: "riscv64-unknown-elf-gcc",
		CompilerFlags: []string{"-mcmodel=medany"}, Flag: "-march=rv32imac -mabi=ilp32",
		Undefined: slices.Concat(macrosX86, macrosVNNI, macrosArm, []string{macroAVX512, macroDSP,
			macroThumb2}, macrosBytes)},
}

func open(name, doc string) *Machine {
	return &Machine{Name: name, Doc: doc, Languages: languages, Open: true, Tile: vectorTile,
		Assembly: []string{"amd64", "arm64"}}
}

// withUnits is a Cortex-M with the units for floats and for products of 16-bit integers,
// which some makers leave out.
func withUnits(doc string) Machine {
	return Machine{Doc: doc, Registers: 32, Floats: true, FMA: true, DSP: true, Tile: floatsUnit}
}

// withVectors is a Cortex-M with those units and with vectors of integers and floats.
func withVectors(doc string) Machine {
	m := withUnits(doc)
	m.Vectors, m.MVE, m.Defined, m.Tile = 128, true, []string{macroMVE}, floats32
	return m
}

// cortex completes the row of a Cortex-M.
func cortex(name string, m Machine) *Machine {
	m.Name, m.Languages, m.Microcontroller, m.Flag = name, []*Language{C}, true, "-mcpu="+name
	m.Undefined = slices.Concat(macrosX86, macrosVNNI, []string{macroAVX512, macroARM64, macroNEON,
		macroRISCV}, macrosBytes)
	if !m.Floats {
		m.Undefined = append(m.Undefined, macrosFloats...)
	}
	if !m.DSP {
		m.Undefined = append(m.Undefined, macroDSP)
	}
	if m.Low {
		m.Undefined = append(m.Undefined, macroThumb2)
	}
	m.Compiler, m.CompilerFlags = "arm-none-eabi-gcc", []string{"-mthumb", "-mfloat-abi=soft"}
	if m.Floats {
		m.CompilerFlags[1] = "-mfloat-abi=hard"
	}
	if name == "cortex-m35" {
		m.Flag += "p"
	}
	if m.MVE {
		m.Flag += " -mfloat-abi=hard"
	} else {
		m.Undefined = append(m.Undefined, macroMVE)
	}
	return &m
}

// MachineNames are the names of the targets.
func MachineNames() []string {
	return seq.Map(machines, func(m *Machine) string { return m.Name })
}

// MachineNamed looks a target up; "" is the first, "generic". The error lists them.
func MachineNamed(name string) (*Machine, error) {
	for _, m := range machines {
		if m.Name == name || name == "" {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the target %q is unknown: take %s", name,
		strings.Join(MachineNames(), ", "))
}

// Has reports whether gcc and clang are known to define a macro for the machine, and that
// one of them compiles: nil is any machine.
func (m *Machine) Has(macro string) bool {
	return m != nil && m.Defined != nil && (macro == "__GNUC__" || slices.Contains(m.Defined, macro))
}

// May reports whether a compiler may define a macro for the machine.
func (m *Machine) May(macro string) bool {
	return m == nil || !slices.Contains(m.Undefined, macro)
}

// Differs reports whether the machine's compilers compute with floats in software, and that their
// libraries' function for differences is another than that for sums. For Armv7-M both are one.
func (m *Machine) Differs() bool {
	return m != nil && m.Microcontroller && !m.Floats && !m.May(macroThumb2)
}

// For reports whether the machine means something for a language.
func (m *Machine) For(l *Language) bool { return slices.Contains(m.Languages, l) }

// MayPair reports whether kernels may use the instructions of DSP, if a compiler has them for the
// machine.
func (m *Machine) MayPair() bool { return m == nil || m.Undefined == nil || m.DSP && !m.MVE }

// DefaultOptimize is what code for the machine is optimised for unless asked.
func (m *Machine) DefaultOptimize() string {
	if m.Microcontroller {
		return "size"
	}
	return "speed"
}

// MachineTable is the table of targets in words: the heads of its columns, and its rows.
func MachineTable() (head []string, rows [][]string) {
	head = []string{"target", "languages", "optimized for", "vectors", "registers", "floats",
		"FMA", "DSP", "DOT", "tile", "compile with", "what it is"}
	for _, m := range machines {
		names := seq.Map(m.Languages, func(l *Language) string { return l.Name })
		row := []string{m.Name, strings.Join(names, ", "), m.DefaultOptimize(),
			number(m.Vectors), number(m.Registers), mark(m.Floats), mark(m.FMA), mark(m.DSP),
			mark(m.Dot)}
		if m.Open {
			for i := 3; i < len(row); i++ {
				row[i] = "?"
			}
		}
		tile := fmt.Sprintf("%dx%d", m.Tile.Rows, m.Tile.Cols)
		if m.Tile.Vector {
			tile = "vectors"
		}
		rows = append(rows, append(row, tile, cmp.Or(m.Flag, "any"), m.Doc))
	}
	return head, rows
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func mark(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}
