// Package ops is the one table of operators. An entry is written once and serves shape and
// dtype inference, constant folding, generated C and Go, the runtime and the documentation.
//
// What entries are made of:
//
//   - table.go: Op, Table, and the list of the families
//   - call.go: a call's arguments, how they are bound and read; what ends a form
//   - builder.go: graphs of other entries, Core ATen forms among them; counted loops
//   - types.go: dtypes of results, broadcasting, dimensions, strides
//   - alias.go: tensors that share the elements of others
//   - pointwise.go: elementwise entries
//   - reductions.go: reductions; cumulative.go: running ones, and walking lines of a tensor
//
// The families, each with its Core ATen forms:
//
//   - arithmetic.go, comparison.go, activation.go, transcendental.go, special.go: elementwise
//     operators
//   - statistics.go, sort.go, data_sizes.go: order, and sizes that data decides
//   - views.go, reshape.go, rearrange.go, diagonal.go, pad.go, join.go: where elements are
//   - copy.go, create.go: copies and conversions; factories and random numbers
//   - index.go, scatter.go, index_update.go, embedding.go: positions that tensors hold
//   - matmul.go, einsum.go, linalg.go, attention.go, rnn.go: products and what is made of them
//   - conv.go, pool.go, pool_adaptive.go, upsample.go, upsample_planes.go, grid_sample.go:
//     windows of images
//   - norm.go, batch_norm.go, losses.go, measures.go, backward.go, composite.go
//   - quant.go, cortexm.go, cortexm_products.go: integers that stand for numbers
//   - scalars.go: Python numbers, sizes and assertions
package ops
