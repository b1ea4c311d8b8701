// Package names tries what names in model files can do to outputs: programs are
// compiled with their own names and with others, and what comes out must differ in
// names, comments and string literals alone.
package names
