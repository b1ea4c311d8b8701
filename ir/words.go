package ir

// The words of the text form, for printer and parser both.

var inputWords = [...]string{
	UserInput:      "input",
	Parameter:      "parameter",
	Buffer:         "buffer",
	TensorConstant: "constant",
	ConstantInput:  "fixed",
	TokenInput:     "token",
	CustomInput:    "object",
}

// outputWords are written before an output and its target; a user output has
// none.
var outputWords = [...]string{
	UserOutput:        "",
	BufferMutation:    "mutates_buffer",
	ParameterMutation: "mutates_parameter",
	UserInputMutation: "mutates_input",
	TokenOutput:       "token",
	LossOutput:        "loss",
	GradientOutput:    "gradient",
}

var kindWords = [...]string{
	NoneKind:   "none",
	TensorKind: "tensor",
	IntKind:    "int",
	FloatKind:  "float",
	BoolKind:   "bool",
	StringKind: "str",
	TokenKind:  "token",
	CustomKind: "object",
}

var formatWords = [...]string{
	ContiguousFormat: "contiguous_format",
	ChannelsLast:     "channels_last",
	ChannelsLast3d:   "channels_last_3d",
	PreserveFormat:   "preserve_format",
}

// indexOf returns the index of s in words, or -1. The empty word is none.
func indexOf(words []string, s string) int {
	for i, w := range words {
		if w == s && w != "" {
			return i
		}
	}
	return -1
}
