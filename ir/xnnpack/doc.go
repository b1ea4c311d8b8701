// Package xnnpack reads, writes and verifies the payloads of ExecuTorch's XNNPACK
// backend, XnnpackBackend: the parts of programs that XNNPACK runs.
//
// The types here are the payload's own, with its names. What its nodes mean is not this
// package's business: lower/raise makes a graph of them.
//
// [Read] takes any payload and never more memory than a stated multiple of its
// flatbuffer; constants stay where they lie. [Verify] tells whether what nodes and values
// refer to is there.
package xnnpack
