// Package grow makes programs of a given shape and size, and measures what each
// stage of etgen takes for them: compile time and memory grow linearly with the
// model.
package grow
