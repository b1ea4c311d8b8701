package ir

import (
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// What other text forms share with this one.

// ParseType consumes a type as Type.String writes it. symbols are those
// it may mention, by name.
func ParseType(l *text.Lexer, symbols map[string]*sym.Symbol) Type {
	return (&parser{Lexer: l, symbols: symbols}).typ()
}

// ParseArg consumes an argument as ArgString writes it, which must refer to no
// value.
func ParseArg(l *text.Lexer) Arg { return (&parser{Lexer: l}).arg() }

// DataString returns the text of elements of type d: the elements if there are
// at most 16, else data(D, N), the start of the digest and the length in bytes.
// The length of data must be a multiple of d's size.
func DataString(d DType, data []byte) string {
	c := &Constant{Type: Type{Kind: TensorKind, DType: d}, Data: Bytes(data)}
	s, _ := constantText(c, digestCache{}) // reading memory does not fail
	return s
}

// ParseData consumes what DataString writes and gets data given by digest from
// resolve.
func ParseData(l *text.Lexer, d DType, resolve Resolver) []byte {
	ps := &parser{Lexer: l, resolve: resolve, blobs: map[string]Blob{}}
	pos := l.Peek().Pos
	v := &Value{Type: Type{Kind: TensorKind, DType: d}}
	ps.data(v, "")
	switch b := v.Const.Data.(type) {
	case nil:
		return nil
	case Bytes:
		return b
	default:
		data := make([]byte, b.Size())
		if err := readFull(b, data, 0); err != nil {
			l.Fail(pos, "%v", err)
		}
		return data
	}
}

// ParseLocation reads what Location.String writes. Any other text is no
// location.
func ParseLocation(s string) Location { return parseLocation(strings.TrimSpace(s)) }
