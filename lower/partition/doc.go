// Package partition gives parts of a program to backends, which compile them for something
// else than etgen's kernels: ExecuTorch's to_backend.
//
// A [Backend] says which nodes it takes ([Backend.Partition]). The nodes that it takes become as
// few parts as can be, each of which runs as one call: no part waits for what needs its own
// results. A part becomes a program of its own, of which the backend makes a payload
// ([Backend.Preprocess]); in the place of its nodes stands a call of the delegate. What no backend
// takes stays as it is, and is compiled by etgen. docs/backends.md shows a backend whole.
//
// The rules, those of ExecuTorch where it has any:
//
//   - Several backends are asked in the order given; each sees the nodes that are left.
//   - A part lies in one graph: the main one, a branch or a body. Nodes with regions, with effects
//     and those whose results are not all tensors belong to nobody.
//   - A constant that one part alone reads moves into it. One that others read too is passed as
//     an argument, unless the backend asks for a copy of its own.
//   - State stays with the program: a part takes it as an argument and returns what is to be
//     stored. A backend may ask to own it, if one part holds all that reads and writes it, and
//     gives something else.
//   - Integers, sizes among them, are arguments of the call.
package partition
