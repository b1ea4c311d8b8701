// Package expand fills in templates in a part of the language of text/template: actions of one
// command, if, with, range over slices, template, and variables. A template calls the functions it
// is given, also as methods of data. text/template looks for methods by name while a program runs,
// for which a linker keeps the exported methods of each type that becomes an interface.
package expand

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"runtime"
	"strings"
	"text/template/parse"
)

// Templates are parsed templates, by name.
type Templates map[string]*parse.ListNode

// Functions are what templates call, by name: each returns a value, and may return an error.
type Functions map[string]any

// Parse returns the templates of a text: the one called name, and those that it defines.
func Parse(name, text string) (list Templates, err error) {
	trees := map[string]*parse.Tree{}
	t := parse.New(name)
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, "", "", trees); err != nil {
		return nil, err
	}
	list = Templates{}
	for name, tree := range trees {
		list[name] = tree.Root
	}
	return list, nil
}

// ParseFiles returns the templates of all files that match a pattern, by their base names. The
// files are part of the program.
func ParseFiles(files fs.FS, pattern string) Templates {
	list := Templates{}
	for _, name := range Must(fs.Glob(files, pattern)) {
		text := Must(fs.ReadFile(files, name))
		maps.Copy(list, Must(Parse(path.Base(name), string(text))))
	}
	return list
}

// Must returns x: an error is a defect of the program, whose part templates are.
func Must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Execute returns the text of a template with data, as its dot.
func (list Templates) Execute(name string, data any, functions Functions) (text string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			panic(r)
		case error:
			err = fmt.Errorf("template %s: %w", name, r)
		default:
			panic(r)
		}
	}()
	var b strings.Builder
	list.execute(&b, name, reflect.ValueOf(data), functions)
	return b.String(), nil
}

func (list Templates) execute(b *strings.Builder, name string, dot reflect.Value, f Functions) {
	root, ok := list[name]
	if !ok {
		fail("no template %q", name)
	}
	x := &execution{list: list, functions: f, b: b, variables: []variable{{"$", dot}}}
	x.walk(root, dot)
}

// fail ends Execute with an error.
func fail(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// execution is that of one template.
type execution struct {
	list      Templates
	functions Functions
	b         *strings.Builder
	variables []variable // the inner ones last
}

type variable struct {
	name  string
	value reflect.Value
}

func (x *execution) walk(node parse.Node, dot reflect.Value) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil { // an else that is not there
			return
		}
		for _, node := range n.Nodes {
			x.walk(node, dot)
		}
	case *parse.TextNode:
		x.b.Write(n.Text)
	case *parse.ActionNode:
		if v := x.pipe(n.Pipe, dot); len(n.Pipe.Decl) == 0 {
			fmt.Fprint(x.b, v)
		}
	case *parse.TemplateNode:
		x.list.execute(x.b, n.Name, x.pipe(n.Pipe, dot), x.functions)
	case *parse.IfNode:
		x.branch(&n.BranchNode, dot)
	case *parse.WithNode:
		x.branch(&n.BranchNode, dot)
	case *parse.RangeNode:
		x.branch(&n.BranchNode, dot)
	default:
		fail("%v is not in this language", node)
	}
}

// branch executes what depends on a value. What is declared in it ends with it.
func (x *execution) branch(n *parse.BranchNode, dot reflect.Value) {
	outer := len(x.variables)
	if n.NodeType == parse.NodeRange && n.Pipe.IsAssign {
		fail("%v is not in this language", n.Pipe)
	}
	v := x.pipe(n.Pipe, dot)
	switch {
	case n.NodeType == parse.NodeRange && v.Len() > 0:
		for i := range v.Len() {
			element := v.Index(i)
			for k, value := range []reflect.Value{reflect.ValueOf(i), element}[2-len(n.Pipe.Decl):] {
				x.variables[outer+k].value = value
			}
			x.walk(n.List, element)
			x.variables = x.variables[:outer+len(n.Pipe.Decl)]
		}
	case n.NodeType == parse.NodeRange || !truth(v):
		x.walk(n.ElseList, dot)
	case n.NodeType == parse.NodeWith:
		x.walk(n.List, v)
	default:
		x.walk(n.List, dot)
	}
	x.variables = x.variables[:outer]
}

// truth reports whether a value is not an empty one.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

// pipe returns a value, after the variables have it that are declared or set.
func (x *execution) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	if p == nil {
		return reflect.ValueOf("") // what a template without dot is given
	}
	if len(p.Cmds) != 1 {
		fail("%v: a command after another is not in this language", p)
	}
	v := x.call(p.Cmds[0].Args[0], p.Cmds[0].Args[1:], dot)
	for _, d := range p.Decl {
		if p.IsAssign {
			x.variable(d.Ident[0]).value = v
		} else {
			x.variables = append(x.variables, variable{d.Ident[0], v})
		}
	}
	return v
}

func (x *execution) variable(name string) *variable {
	for i := len(x.variables) - 1; i > 0; i-- {
		if x.variables[i].name == name {
			return &x.variables[i]
		}
	}
	return &x.variables[0] // the parser knows all others
}

// call returns the value of an operand with arguments.
func (x *execution) call(node parse.Node, args []parse.Node, dot reflect.Value) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	case *parse.NumberNode:
		if !n.IsInt {
			fail("%v is not in this language", n)
		}
		return reflect.ValueOf(int(n.Int64))
	case *parse.PipeNode:
		return x.pipe(n, dot)
	case *parse.FieldNode:
		return x.fields(dot, n.Ident, args, dot)
	case *parse.VariableNode:
		return x.fields(x.variable(n.Ident[0]).value, n.Ident[1:], args, dot)
	case *parse.IdentifierNode:
		return x.function(n.Ident, args, dot)
	}
	fail("%v is not in this language", node)
	return dot
}

// fields returns a field of a field of v, and calls the last one if it is a function.
func (x *execution) fields(v reflect.Value, names []string, args []parse.Node,
	dot reflect.Value) reflect.Value {
	for _, name := range names {
		if x.functions[name] != nil {
			return x.apply(name, reflect.ValueOf(x.functions[name]), args, dot)
		}
		if v = reflect.Indirect(v).FieldByName(name); !v.IsValid() {
			fail("no field or function %s", name)
		}
	}
	return v
}

// function returns the value of a function: of those that are built in, or given.
func (x *execution) function(name string, args []parse.Node, dot reflect.Value) reflect.Value {
	value := func(i int) reflect.Value { return x.call(args[i], nil, dot) }
	if least, ok := map[string]int{"not": 1, "and": 1, "or": 1, "eq": 2, "call": 1}[name]; ok &&
		len(args) < least {
		fail("%s takes more arguments", name)
	}
	switch name {
	case "not":
		return reflect.ValueOf(!truth(value(0)))
	case "and", "or": // of the first value that decides, or the last one
		for i := range args[1:] {
			if v := value(i); truth(v) == (name == "or") {
				return v
			}
		}
		return value(len(args) - 1)
	case "eq":
		a, b := value(0), value(1)
		if a.CanInt() && b.CanInt() {
			return reflect.ValueOf(a.Int() == b.Int())
		}
		return reflect.ValueOf(a.Interface() == b.Interface())
	case "printf":
		return x.apply(name, reflect.ValueOf(fmt.Sprintf), args, dot)
	case "call":
		return x.apply(name, value(0), args[1:], dot)
	}
	if x.functions[name] == nil {
		fail("no function %s", name)
	}
	return x.apply(name, reflect.ValueOf(x.functions[name]), args, dot)
}

// apply calls a function.
func (x *execution) apply(name string, f reflect.Value, args []parse.Node,
	dot reflect.Value) reflect.Value {
	var values []reflect.Value
	for i, a := range args {
		v := x.call(a, nil, dot)
		if t := f.Type(); i < t.NumIn() && v.CanInt() && t.In(i).Kind() == reflect.Int64 {
			v = v.Convert(t.In(i))
		}
		values = append(values, v)
	}
	results := f.Call(values)
	if len(results) == 2 && !results[1].IsNil() {
		panic(fmt.Errorf("%s: %w", name, results[1].Interface().(error)))
	}
	return results[0]
}
