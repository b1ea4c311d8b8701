// Package lower turns a program as PyTorch exported it into the dialects the
// back ends take: ATen, Core ATen, Edge, Backend. Each step is a Pass, one per
// file; each pipeline is one exported value.
package lower
