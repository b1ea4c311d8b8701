// Package aten knows PyTorch's operators by name: their schemas, and which
// operator is another's out variant. What they compute is in kernels/ops.
package aten
