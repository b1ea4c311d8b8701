// Package flat checks flatbuffers against their schema, so that generated
// accessors, which check nothing, may read them afterwards.
//
// The schema is the text that the accessors are generated from, in the part of
// the language that our schemas use: tables, unions of tables (a member may be
// "Name: Table"), scalars, strings, vectors of scalars and of tables. Types are
// declared before they are used, so no type contains itself and a buffer's depth
// is bounded by its schema.
package flat
