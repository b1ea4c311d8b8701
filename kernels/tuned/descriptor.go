package tuned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

//go:generate go run ./describe

// Descriptor declares the integers that the code of some kernels is written in terms
// of. From it follow the structs that C and Go pass them in, the names that the code
// has for them, how the runtime binds them, and their documentation.
type Descriptor struct {
	Name   string // of the struct in C, e.g. "conv_params"; in Go it is ConvParams
	Fields []*Field
}

// Field is one integer of a descriptor. A name means the same in all descriptors.
type Field struct {
	Name string // in C, e.g. "kernel_h"; in Go it is kernelH
	Unit string // what it counts: "rows", "elements"; flag says that it is 0 or 1
	Doc  string // one short sentence
	Form bool   // the code differs so much by its value that calls share none
}

// flag is the unit of a field that tells whether something is so.
const flag = "flag"

// Flag reports whether the field is 0 or 1, a bool in Go.
func (f *Field) Flag() bool { return f.Unit == flag }

// GoName is the name of the field in Go.
func (f *Field) GoName() string {
	name := goName(f.Name)
	return strings.ToLower(name[:1]) + name[1:]
}

// GoType is the type of the field in Go.
func (f *Field) GoType() string {
	if f.Flag() {
		return "bool"
	}
	return "int"
}

// GoName is the name of the struct in the package of a Go kernel.
func (d *Descriptor) GoName() string { return goName(d.Name) }

// goName joins the words of a name.
func goName(name string) string {
	joined := ""
	for _, word := range strings.Split(name, "_") {
		joined += strings.ToUpper(word[:1]) + word[1:]
	}
	return joined
}

// Comment says in a line what the field is.
func (f *Field) Comment() string { return strings.TrimSuffix(f.Doc, ".") }

// Values are what an instance sets the fields of its descriptor to, by name.
type Values map[string]sym.Expr

// Param is a field with its value: a constant, or dynamic.
type Param struct {
	Name  string
	Value sym.Expr
}

// params returns values in the order of the fields. It panics unless every field has
// one, of its own or of those that are given, and no other name has one of its own.
func (d *Descriptor) params(own, given Values) []Param {
	params := make([]Param, len(d.Fields))
	for i, f := range d.Fields {
		v, ok := own[f.Name]
		if !ok {
			v, ok = given[f.Name]
		}
		if !ok {
			panic(fmt.Sprintf("%s: field %s has no value", d.Name, f.Name))
		}
		params[i] = Param{f.Name, v}
	}
	for name := range own {
		if d.Field(name) == nil {
			panic(fmt.Sprintf("%s has no field %s", d.Name, name))
		}
	}
	return params
}

// Field returns the field of a name, nil if there is none.
func (d *Descriptor) Field(name string) *Field {
	i := slices.IndexFunc(d.Fields, func(f *Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return d.Fields[i]
}

// Descriptors returns those of kernels, each once.
func Descriptors(kernels []*Kernel) (list []*Descriptor) {
	for _, k := range kernels {
		if !slices.Contains(list, k.Descriptor) {
			list = append(list, k.Descriptor)
		}
	}
	return list
}

// describe returns a descriptor of fields of the vocabulary.
func describe(name string, fields ...[]string) *Descriptor {
	d := &Descriptor{Name: name}
	for _, f := range slices.Concat(fields...) {
		field, ok := vocabulary[f]
		if !ok {
			panic(name + ": there is no field " + f)
		}
		d.Fields = append(d.Fields, &field)
	}
	return d
}

// vocabulary has all fields that descriptors may have.
var vocabulary = func() map[string]Field {
	fields := map[string]Field{}
	for _, f := range []Field{
		// Sizes of what is computed.
		{Name: "batch", Unit: "images",
			Doc: "Images, or pairs of matrices, that lie one behind the other."},
		{Name: "groups", Unit: "groups", Doc: "Groups of channels, each convolved by itself."},
		{Name: "in_channels", Unit: "channels", Doc: "Channels of the image in a group."},
		{Name: "out_channels", Unit: "channels", Doc: "Channels of the result in a group."},
		{Name: "channels", Unit: "channels", Doc: "Channels of the image, each on its own."},
		{Name: "multiplier", Unit: "channels",
			Doc: "Channels of the result that each one of the image makes."},
		{Name: "lanes", Unit: "elements",
			Doc: "Weights of a tap: the channels once, or several times beside each other."},
		{Name: "in_h", Unit: "rows", Doc: "Rows of the image."},
		{Name: "in_w", Unit: "columns", Doc: "Columns of the image."},
		{Name: "in_row", Unit: "elements", Doc: "Elements of a row of the image."},
		{Name: "out_h", Unit: "rows", Doc: "Rows of the result."},
		{Name: "out_w", Unit: "columns", Doc: "Columns of the result."},
		{Name: "m", Unit: "rows", Doc: "Rows of the first matrix and of the result."},
		{Name: "n", Unit: "columns", Doc: "Columns of the second matrix and of the result."},
		{Name: "k", Unit: "elements",
			Doc: "Columns of the first matrix and rows of the second: products of a sum."},
		{Name: "group", Unit: "elements", Doc: "Elements of a row of weights that have one scale."},
		{Name: "int4", Unit: flag, Doc: "Weights have 4 bits, two of them in a byte."},
		// The window: taps are its elements.
		{Name: "kernel_h", Unit: "rows", Doc: "Rows of taps."},
		{Name: "kernel_w", Unit: "columns", Doc: "Columns of taps."},
		{Name: "stride_h", Unit: "rows",
			Doc: "How far the window moves from row to row of the result."},
		{Name: "stride_w", Unit: "columns",
			Doc: "How far the window moves from column to column of the result."},
		{Name: "dilation_h", Unit: "rows", Doc: "How far rows of taps are apart."},
		{Name: "dilation_w", Unit: "columns", Doc: "How far columns of taps are apart."},
		{Name: "pad_h", Unit: "rows", Doc: "Rows of padding before the image."},
		{Name: "pad_w", Unit: "columns", Doc: "Columns of padding before the image."},
		{Name: "pad_row", Unit: "elements", Doc: "Elements of padding before a row of the image."},
		{Name: "pad_value", Unit: "", Doc: "What padding holds."},
		{Name: "fast", Unit: "", Doc: "1 if time counts more than the size of the text."},
		{Name: "results_at_once", Unit: "results",
			Doc: "Results of a channel that are computed at once."},
		{Name: "zeroed", Unit: flag, Doc: "Groups of weights have zero points."},
		{Name: "whole_range", Unit: "flag", Doc: "Some weight is -128."},
		{Name: "direct", Unit: flag,
			Doc: "A result sees elements that lie beside each other, a multiple of four."},
		{Name: "in_bytes", Unit: flag,
			Doc: "Elements of the image are bytes where the machine multiplies bytes."},
		{Name: "out_bytes", Unit: "",
			Doc: "Added, modulo 256, to results where they become bytes; 0: nowhere."},
		{Name: "in_place", Unit: flag,
			Doc: "Results may lie over the image: its rows are copied before."},
		{Name: "upsample_h", Unit: "rows",
			Doc: "How far rows of the image are apart, zeros between them."},
		{Name: "upsample_w", Unit: "columns",
			Doc: "How far columns of the image are apart, zeros between them."},
		{Name: "interior_begin", Unit: "columns",
			Doc: "First column of the result that sees all columns of taps."},
		{Name: "interior_end", Unit: "columns",
			Doc: "Column behind the last one that sees all columns of taps."},
		{Name: "divisor", Unit: "taps",
			Doc: "What divides a sum; 0: how many taps lie in the image; -1: in padding, too."},
		{Name: "wide", Unit: flag, Doc: "Elements of the image have 16 bits."},
		{Name: "in_offset", Unit: "", Doc: "What is added to each element of the image."},
		{Name: "weight_offset", Unit: "", Doc: "What is added to each element of the second matrix."},
		// What calls of CMSIS-NN pass besides.
		{Name: "group_channels", Unit: "channels", Doc: "Channels of the image that a result sees."},
		{Name: "out_offset", Unit: "", Doc: "What is added to each element of the result."},
		{Name: "other_offset", Unit: "", Doc: "What is added to each element of the second operand."},
		{Name: "activation_min", Unit: "", Doc: "The least result."},
		{Name: "activation_max", Unit: "", Doc: "The largest result."},
		{Name: "scale", Unit: "2^-31", Doc: "What results are multiplied by."},
		{Name: "shift", Unit: "bits", Doc: "How far results are shifted left."},
		{Name: "in_scale", Unit: "2^-31", Doc: "What elements of the first operand are multiplied by."},
		{Name: "in_shift", Unit: "bits", Doc: "How far they are shifted left."},
		{Name: "other_scale", Unit: "2^-31",
			Doc: "What elements of the second operand are multiplied by."},
		{Name: "other_shift", Unit: "bits", Doc: "How far these are shifted left."},
		{Name: "diff_min", Unit: "", Doc: "Elements so far below the largest have the probability 0."},
		// How the sum over the taps is nested.
		{Name: "channel_loop", Unit: "",
			Doc: "Loop of the sum that counts channels: 1, or 2, the innermost."},
		{Name: "column_loop", Unit: "",
			Doc: "Loop of the sum that counts columns of taps: the other one."},
		{Name: "outer_taps", Unit: "taps", Doc: "Taps that the outer loop counts."},
		{Name: "middle_taps", Unit: "taps", Doc: "Taps that the middle loop counts."},
		{Name: "inner_taps", Unit: "taps",
			Doc: "Taps that the inner loop counts, which are contiguous in the image."},
		{Name: "column_taps", Unit: "taps", Doc: "Taps of one column that the inner loop counts."},
		{Name: "sum_taps", Unit: "taps",
			Doc: "Taps that a result sees, over all channels of its group."},
		{Name: "depth", Unit: "elements",
			Doc: "Products of a sum, with zeros up to a multiple of four."},
		{Name: "rows_in_middle", Unit: flag,
			Doc: "The middle loop counts rows of taps, else the outer one does."},
		{Name: "columns_in_middle", Unit: flag,
			Doc: "The middle loop counts columns of taps, else the inner one does."},
		// Distances in memory.
		{Name: "in_stride_batch", Unit: "elements",
			Doc: "From image to image, or from matrix to matrix."},
		{Name: "in_stride_group", Unit: "elements",
			Doc: "From a group's first channel to the next one's."},
		{Name: "in_stride_channel", Unit: "elements", Doc: "From channel to channel of the image."},
		{Name: "in_stride_row", Unit: "elements",
			Doc: "From row to row of the image, of the copy if there is one."},
		{Name: "in_stride_col", Unit: "elements",
			Doc: "From column to column of the image, of the copy if there is one."},
		{Name: "in_stride_outer", Unit: "elements", Doc: "From tap to tap of the outer loop."},
		{Name: "in_stride_middle", Unit: "elements", Doc: "From tap to tap of the middle loop."},
		{Name: "in_stride_m", Unit: "elements", Doc: "From row to row of the first matrix."},
		{Name: "in_stride_k", Unit: "elements", Doc: "From column to column of the first matrix."},
		{Name: "weight_stride_batch", Unit: "elements", Doc: "From one second matrix to the next."},
		{Name: "weight_stride_k", Unit: "elements", Doc: "From row to row of the second matrix."},
		{Name: "weight_stride_n", Unit: "elements",
			Doc: "From column to column of the second matrix."},
		{Name: "weight_stride_channel", Unit: "elements",
			Doc: "From one channel's weights to the next's. 0: all blocks of channels have the same " +
				"weights. A block has 4 channels, with MVE 16."},
		{Name: "weight_stride_outer", Unit: "rows",
			Doc: "Rows of packed weights from tap to tap of the outer loop."},
		{Name: "weight_stride_middle", Unit: "rows",
			Doc: "Rows of packed weights from tap to tap of the middle loop."},
		{Name: "weight_stride_row", Unit: "rows",
			Doc: "Rows of packed weights from row to row of taps."},
		{Name: "weight_stride_col", Unit: "rows",
			Doc: "Rows of packed weights from column to column of taps."},
		{Name: "out_stride_batch", Unit: "elements", Doc: "From result to result of a batch."},
		{Name: "out_stride_channel", Unit: "elements",
			Doc: "From channel to channel of the result."},
		{Name: "out_stride_row", Unit: "elements", Doc: "From row to row of the result."},
		{Name: "out_stride_col", Unit: "elements", Doc: "From column to column of the result."},
		{Name: "channels_inner", Unit: flag,
			Doc: "Channels of the result lie innermost, else its columns do."},
		// The copy of an image, with its padding.
		{Name: "copy_mode", Unit: "",
			Doc: "0: no copy; 1: the image with its padding; 2: planes, their channels innermost."},
		{Name: "padded_h", Unit: "rows", Doc: "Rows of the copy; 0 if there is none."},
		{Name: "padded_row", Unit: "elements", Doc: "Elements of a row of the copy."},
		{Name: "band", Unit: "rows", Doc: "Rows of the result that are computed of one copy."},
		{Name: "planes", Unit: "planes", Doc: "Planes of the image, and of the copy."},
		{Name: "pixel", Unit: "elements", Doc: "Elements of a pixel of a plane."},
		{Name: "copied_w", Unit: "columns", Doc: "Columns of the image that are copied."},
		{Name: "copied_row", Unit: "elements",
			Doc: "Elements of a row of the image that are copied."},
		{Name: "phase", Unit: "elements",
			Doc: "From phase to phase of a row: columns that results see with one tap."},
		{Name: "source_stride_channel", Unit: "elements",
			Doc: "From channel to channel of the image that is copied."},
		// Winograd's tiles.
		{Name: "tile_side", Unit: "elements",
			Doc: "Rows and columns of a tile of the image, two more than of its results."},
		{Name: "tiles_across", Unit: "tiles", Doc: "Tiles in a row of them."},
		{Name: "tiles", Unit: "tiles", Doc: "Tiles of an image."},
		{Name: "block", Unit: "tiles", Doc: "Tiles that are computed at once, an even number."},
		// Attention.
		{Name: "heads", Unit: "heads", Doc: "Heads of queries."},
		{Name: "queries", Unit: "rows", Doc: "Queries of a head."},
		{Name: "keys", Unit: "rows", Doc: "Keys of a head, and values."},
		{Name: "head_dim", Unit: "elements", Doc: "Elements of a query and of a key."},
		{Name: "value_dim", Unit: "elements", Doc: "Elements of a value and of a result."},
		{Name: "causal", Unit: flag, Doc: "Query i sees keys up to i only."},
		{Name: "zero_if_masked", Unit: flag, Doc: "A query that sees no key gives zeros."},
		{Name: "mask_mode", Unit: "",
			Doc: "0: no mask; 1: it is added to the scores; 2: it tells which scores count."},
		{Name: "part_scratch", Unit: "elements", Doc: "Scratch that each part has."},
		{Name: "query_panel", Unit: "elements", Doc: "Where in it the packed queries begin."},
		{Name: "k_group", Unit: "heads", Doc: "Heads of queries that share keys."},
		{Name: "v_group", Unit: "heads", Doc: "Heads of queries that share values."},
		{Name: "q_stride_batch", Unit: "elements", Doc: "From batch to batch of the queries."},
		{Name: "q_stride_head", Unit: "elements", Doc: "From head to head of the queries."},
		{Name: "q_stride_row", Unit: "elements", Doc: "From query to query."},
		{Name: "k_stride_batch", Unit: "elements", Doc: "From batch to batch of the keys."},
		{Name: "k_stride_head", Unit: "elements", Doc: "From head to head of the keys."},
		{Name: "k_stride_row", Unit: "elements", Doc: "From key to key."},
		{Name: "v_stride_batch", Unit: "elements", Doc: "From batch to batch of the values."},
		{Name: "v_stride_head", Unit: "elements", Doc: "From head to head of the values."},
		{Name: "v_stride_row", Unit: "elements", Doc: "From value to value."},
		{Name: "out_stride_head", Unit: "elements", Doc: "From head to head of the result."},
		{Name: "mask_stride_batch", Unit: "elements", Doc: "From batch to batch of the mask."},
		{Name: "mask_stride_head", Unit: "elements", Doc: "From head to head of the mask."},
		{Name: "mask_stride_row", Unit: "elements", Doc: "From query to query of the mask."},
		{Name: "mask_stride_col", Unit: "elements", Doc: "From key to key of the mask."},
	} {
		f.Form = slices.Contains([]string{"channels_inner", "mask_mode", "copy_mode", "wide", "int4",
			"zeroed"}, f.Name)
		fields[f.Name] = f
	}
	return fields
}()

var (
	offsets    = []string{"in_offset", "out_offset"}
	activation = []string{"activation_min", "activation_max"}
	scale      = []string{"scale", "shift"}
	window     = []string{"in_h", "in_w", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h",
		"stride_w", "dilation_h", "dilation_w", "pad_h", "pad_w"}
	interior  = []string{"interior_begin", "interior_end"}
	inStrides = []string{"in_stride_batch", "in_stride_channel", "in_stride_row",
		"in_stride_col"}
	outStrides = []string{"out_stride_batch", "out_stride_channel", "out_stride_row",
		"out_stride_col"}
)

// The descriptors of all kernels.
var (
	linearParams      = describe("linear_params", []string{"m", "n", "k"})
	mixedLinearParams = describe("mixed_linear_params", []string{"m", "n", "k", "group", "int4"})
	groupsParams      = describe("groups_params", []string{"m", "n", "k", "group", "int4", "zeroed",
		"whole_range"})
	matmulParams = describe("matmul_params", []string{"batch", "m", "n", "k", "in_stride_batch",
		"in_stride_m", "in_stride_k", "weight_stride_batch", "weight_stride_k",
		"weight_stride_n"})
	matmulInt8Params = describe("matmul_i8_params", []string{"batch", "m", "n", "k",
		"in_stride_batch", "in_offset", "weight_offset", "weight_stride_batch",
		"weight_stride_k", "weight_stride_n"})
	convFields = slices.Concat([]string{"batch", "groups", "in_channels", "out_channels"}, window,
		interior, []string{"channel_loop", "column_loop"}, inStrides, outStrides)
	convParams      = describe("conv_params", convFields)
	mixedConvParams = describe("mixed_conv_params", convFields, []string{"int4"})
	convInt8Params  = describe("conv_i8_params", []string{"batch", "groups", "in_channels",
		"out_channels",
		"depth", "pad_value", "results_at_once", "direct", "wide", "int4", "whole_range", "planes",
		"pixel"}, window, inStrides, outStrides, []string{"in_bytes", "out_bytes"})
	convRowsParams = describe("conv_rows_params", []string{"batch", "groups",
		"out_channels", "out_h", "out_w", "outer_taps", "middle_taps", "inner_taps",
		"in_stride_batch", "in_stride_group", "in_stride_outer", "in_stride_middle",
		"in_stride_row", "in_stride_col", "out_stride_channel", "out_stride_col",
		"channels_inner", "planes", "in_h", "in_row", "pad_h", "pad_row", "padded_h",
		"padded_row", "copied_row", "pixel", "copy_mode", "source_stride_channel", "upsample_h",
		"upsample_w"})
	convEdgesParams = describe("conv_edges_params", []string{"batch", "groups", "out_channels"},
		window, []string{"upsample_h", "upsample_w", "rows_in_middle", "columns_in_middle",
			"outer_taps", "inner_taps", "column_taps", "sum_taps", "in_stride_batch",
			"in_stride_group", "in_stride_row", "in_stride_col", "in_stride_outer",
			"in_stride_middle", "weight_stride_outer", "weight_stride_middle",
			"weight_stride_row", "weight_stride_col", "out_stride_channel", "out_stride_col",
			"channels_inner"})
	convFewFields = []string{"batch", "in_channels", "out_channels",
		"in_h", "in_w", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h", "stride_w",
		"dilation_h", "pad_h", "pad_w", "in_stride_batch", "out_stride_channel",
		"channels_inner", "padded_h", "padded_row", "band", "copied_w", "phase"}
	convFewParams      = describe("conv_few_params", convFewFields)
	convFewBytesParams = describe("conv_few_bytes_params", convFewFields, []string{"pad_value",
		"out_bytes"})
	winogradParams = describe("winograd_params", []string{"batch", "in_channels",
		"out_channels", "in_h", "in_w", "out_h", "out_w", "pad_h", "pad_w", "tile_side",
		"tiles_across", "tiles", "block"})
	depthwiseFields = slices.Concat([]string{"batch", "channels", "multiplier"}, window, interior,
		inStrides, outStrides)
	depthwiseParams      = describe("depthwise_params", depthwiseFields)
	mixedDepthwiseParams = describe("mixed_depthwise_params", depthwiseFields, []string{"int4"})
	depthwiseRowsParams  = describe("depthwise_rows_params", []string{"batch", "channels",
		"lanes"}, window, interior,
		[]string{"in_stride_batch", "in_stride_row", "in_stride_col", "out_bytes"})
	depthwiseBytesParams = describe("depthwise_bytes_params", []string{"batch", "channels"}, window,
		[]string{"in_stride_batch", "in_stride_row", "in_stride_col", "pad_value", "in_bytes",
			"out_bytes"})
	depthwiseInt8Params = describe("depthwise_i8_params", []string{"batch", "channels",
		"multiplier", "in_offset", "fast", "wide", "pad_value", "in_place",
		"weight_stride_channel"}, window, inStrides,
		outStrides)
	poolParams = describe("pool_params", []string{"batch", "channels"}, window,
		[]string{"channels_inner", "divisor", "in_bytes"})
	cmsisConvParams = describe("cmsis_nn_conv_params", []string{"batch", "in_channels",
		"out_channels", "multiplier", "group_channels"}, window, offsets, activation)
	cmsisLinearParams = describe("cmsis_nn_linear_params", []string{"m", "n", "k", "weight_offset"},
		offsets, activation, scale)
	cmsisPoolParams = describe("cmsis_nn_pool_params", []string{"batch", "in_channels",
		"in_h", "in_w", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h",
		"pad_w"}, activation)
	cmsisAddParams = describe("cmsis_nn_add_params", []string{"n", "in_scale", "in_shift",
		"other_offset", "other_scale", "other_shift"}, offsets, scale, activation)
	cmsisMulParams     = describe("cmsis_nn_mul_params", []string{"n", "other_offset"}, offsets, scale)
	cmsisSoftmaxParams = describe("cmsis_nn_softmax_params", []string{"m", "n", "diff_min"}, scale)
	attentionParams    = describe("attention_params", []string{"batch", "heads", "queries", "keys",
		"head_dim", "value_dim", "causal", "zero_if_masked", "mask_mode", "part_scratch",
		"query_panel", "q_stride_batch", "q_stride_head", "q_stride_row", "k_group",
		"k_stride_batch", "k_stride_head", "k_stride_row", "v_group", "v_stride_batch",
		"v_stride_head", "v_stride_row", "mask_stride_batch", "mask_stride_head",
		"mask_stride_row", "mask_stride_col", "out_stride_batch", "out_stride_head",
		"out_stride_row"})
)
