package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
)

// Language is a row of the table of languages that kernels are written in: all that
// their choice, and the native form around them, depends on of a language and its
// compilers. Nothing asks for its name.
type Language struct {
	Name string
	// Has reports whether there is a text of a kernel in the language.
	Has func(*Kernel) bool
	// Tile, if not nil, is the register tile of its scalar texts on every machine.
	Tile *Tile
	// FindsVectors says that texts find out when they run which vectors the processor has,
	// and use them in a library without the compiler's help. So they lay out memory for
	// vectors on every machine.
	FindsVectors bool

	// RereadsBytes says that bytes can be read as numbers. Else scratch is numbers.
	RereadsBytes bool
	// EpilogueOnRuns says that an epilogue works on runs of results after they were stored,
	// and not on each in a register. So results of a run are neighbours of one channel or
	// of all, and sums cannot be of another type than what is stored.
	EpilogueOnRuns bool
	// QueryPanels says that attention packs queries, rowsCols beside each other, and takes
	// keys and values as they are. Else it packs these, and takes queries as they are.
	QueryPanels bool
	// CopiesRows is how many rows of its first operand a product of matrices copies into
	// scratch beside a panel of the second.
	CopiesRows int
	// CopiesPadding says that a copy of an image with its padding is quicker than tiles that
	// end where padding begins: each tile is a call there.
	CopiesPadding bool

	// RowResults is from how many results side by side on reductions run row by row.
	RowResults int
	// Accumulators is how many partial sums a reduction along memory has where there are
	// vectors, so that the compiler makes them a vector; 0: the language's vector chunks
	// have their own.
	Accumulators int
	Costs        Costs
}

// Costs are figures of the kernels' costs. Each is for choosing among kernels of one
// language, and was measured there.
type Costs struct {
	// FewestChannels that a convolution's result needs for its kernel to be quicker than
	// the definition's loops, which compilers make vectors of if they can.
	FewestChannels int
	// CopiedChannels is from how many channels on a convolution of few rows is worth a copy
	// of its result.
	CopiedChannels int
	// Lanes that Conv2DRows computes at least, whether they have a channel or not: where
	// channels lie innermost in the image and the result, and elsewhere.
	RowsLanes, AroundLanes int
	Run                    float64 // of the loop around a run of products, in products
	LinearProduct          float64 // of a product of Linear, in those of Matmul
	FewProduct             float64 // of a product of ConvFew, in others
	// Of an element that is copied into scratch, in products: by ConvFew, which copies
	// rows at once; by others; and what comes on top where channels are not innermost.
	FewCopy, Copy, PlaneCopy float64
}

// MarshalText makes the name of a language all that JSON says of it.
func (l *Language) MarshalText() ([]byte, error) { return []byte(l.Name), nil }

// C is C99.
var C = &Language{Name: "c",
	Has:          func(k *Kernel) bool { return k.C },
	RereadsBytes: true, QueryPanels: true,
	RowResults:   8,  // compilers make vectors of so many
	Accumulators: 16, // lanes of the widest vectors
	Costs: Costs{FewestChannels: 4, CopiedChannels: 8, RowsLanes: rowsCols / 2,
		AroundLanes: rowsCols / 2, Run: 1, LinearProduct: 1, FewProduct: 1, FewCopy: 10,
		Copy: 32}, // the memory that it takes included
}

// Go is Go with the assembly of packages in gokernels.
var Go = &Language{Name: "go",
	Has:          func(k *Kernel) bool { return k.Go != "" },
	Tile:         &floats16, // the compiler has 15 registers and no vectors
	FindsVectors: true, EpilogueOnRuns: true, CopiesRows: rowsMax, CopiesPadding: true,
	RowResults: 32, // which are worth a call of a primitive
	// What else a convolution may be is a copy too, and is not asked what its empty lanes
	// cost: ConvFew's products, and its copies, count less.
	Costs: Costs{AroundLanes: 8, LinearProduct: 0.25, FewProduct: 0.6, FewCopy: 1,
		PlaneCopy: 25}, // elements are copied one by one
}

var languages = []*Language{C, Go}

// Languages is the table of languages.
func Languages() []*Language { return slices.Clone(languages) }

// attentionScratch returns how many elements attention to s keys has scratch for in
// scratch, and with QueryPanels at which of them its queries are.
func (l *Language) attentionScratch(s sym.Expr, depth, values int64) (scratch, behind sym.Expr) {
	if l.QueryPanels {
		behind = sym.Mul(sym.Int(rowsCols), s)
		scratch = sym.Mul(sym.Int(rowsCols), sym.Add(s, sym.Int(depth)))
		return scratch, behind
	}
	// Keys and values in panels, and the scores of some queries.
	across := sym.Mul(sym.Int(rowsCols), sym.FloorDiv(sym.Add(s, sym.Int(rowsCols-1)),
		sym.Int(rowsCols)))
	return sym.Add(sym.Mul(across, sym.Int(depth)),
		sym.Mul(s, sym.Int(runQueries+roundUp(values, rowsCols/2)))), behind
}
