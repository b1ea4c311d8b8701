// Package lower turns a program as PyTorch exported it into the dialects the
// back ends take. Each step is a Pass, one per file; each pipeline (Functional,
// ToCore, ToEdge, Backend, ToPortable, ToExecutorch) is one exported value. Those that lead
// to a dialect end with a pass that verifies its rules.
//
// What holds where:
//
//   - after Functional: no node writes to an operand; state and inputs that are
//     written to are outputs of kind mutation; regions capture what they read,
//     and cond, while_loop and scan have the form that Capture describes;
//   - after Decompose: every operator is in the table and one the target keeps;
//     types still have the strides of eager PyTorch;
//   - after Dense: strides mean nothing any more, after DenseInside those of user
//     inputs only;
//   - after ToPortable: every operator has a kernel in ExecuTorch's own runtime.
//
// A pass that cannot do something ends there by [ops.Fail] or [ops.Check]: the runner makes
// the error of it, with the node, its operator and the Python line, and goes on with the next
// node where there is one, so that all faults are named at once.
//
// A pass has its cases in testdata/NAME: a program and what the pass makes of
// it. go test ./lower -update writes what it makes now.
package lower
