package pte

import (
	"fmt"
	"io"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
)

// bundleVersion is that of ExecuTorch's bundles.
const bundleVersion = 2

// WriteBundle writes a .bpte of a program's file, as it is, and test cases for its methods.
func WriteBundle(w io.Writer, program ir.Blob, suites []TestSuite) error {
	return saving("bpte", func() {
		e := newEncoderOf(bundleTables())
		embedded := e.alignedTo(32, program)
		list := listOf(e, suites, func(_ int, s *TestSuite) offset {
			cases := listOf(e, s.Cases, func(_ int, c *TestCase) offset {
				return e.Table("BundledMethodTestCase", listOf(e, c.Inputs, e.testValue),
					listOf(e, c.Outputs, e.testValue))
			})
			return e.Table("BundledMethodTestSuite", uint64(e.text(s.Method)), cases)
		})
		e.FinishWithFileIdentifier(e.Table("BundledProgram", list, uint64(embedded), bundleVersion),
			[]byte(bundledSchema().Identifier))
		must.Get(w.Write(e.FinishedBytes()))
	})
}

// bundleTables are the tables of a .bpte file, see programTables.
var bundleTables = flat.Layouts(bundledSchema, `
	Int int_val
	Bool bool_val
	Double double_val
	Tensor sizes data dim_order scalar_type
	Value val val_type
	BundledMethodTestCase inputs expected_outputs
	BundledMethodTestSuite method_name test_cases
	BundledProgram method_test_suites program version`)

func (e *encoder) testValue(_ int, v *TestValue) offset {
	value := func(kind string, contents ...uint64) offset {
		return e.Table("Value", uint64(e.Table(kind, contents...)), e.Tables["Value"].Selector(kind))
	}
	switch v := (*v).(type) {
	case *TestTensor:
		return value("Tensor", uint64(e.int32s(v.Sizes)), uint64(e.aligned(v.Data)),
			uint64(e.bytes(v.DimOrder)), uint64(v.ScalarType))
	case Int:
		return value("Int", uint64(v))
	case Bool:
		return value("Bool", bit(bool(v)))
	case Double:
		return value("Double", math.Float64bits(float64(v)))
	}
	panic(fmt.Errorf("no value of a test case: %T", *v))
}
