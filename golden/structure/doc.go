// Package structure holds the repository against its own rules: who may import
// whom, that printers know no operators, that documents name things that exist.
package structure
