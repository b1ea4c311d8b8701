// Package packages holds what etgen generates of a few models, whole, so that a
// change of the generators shows in review: MODEL/c and MODEL/go.
package packages
