package sym

// apply computes a function of an srepr.
func (p *sreprParser) apply(name string, args []value) (value, error) {
	switch name {
	case "Add", "Mul":
		return p.fold(name, args)
	case "IntTrueDiv":
		return p.trueDiv(args)
	case "FloorToInt", "floor", "CeilToInt", "ceiling", "TruncToInt":
		return p.round(name, args)
	case "Pow", "PowByNatural":
		return p.pow(args)
	case "ToFloat":
		if err := p.arity(name, len(args), 1); err != nil {
			return value{}, err
		}
		args[0].float = true
		return args[0], nil
	}
	xs := make([]Expr, len(args))
	for i, a := range args {
		var err error
		if xs[i], err = p.integer(a); err != nil {
			return value{}, err
		}
	}
	if name == "Max" || name == "Min" {
		if len(xs) == 0 {
			return value{}, p.errorf("%s of nothing", name)
		}
		if name == "Max" {
			return whole(Max(xs...)), nil
		}
		return whole(Min(xs...)), nil
	}
	f, arity := integerFunc(name)
	if f == nil {
		return value{}, p.errorf("unknown function %s", quote(name))
	}
	if err := p.arity(name, len(xs), arity); err != nil {
		return value{}, err
	}
	e, err := f(p, xs)
	return whole(e), err
}

func (p *sreprParser) arity(name string, got, want int) error {
	if got != want {
		return p.errorf("%s of %d arguments, not %d", name, got, want)
	}
	return nil
}

type sreprFunc func(p *sreprParser, x []Expr) (Expr, error)

// integerFunc returns a function of integers and the number of its arguments.
func integerFunc(name string) (sreprFunc, int) {
	switch name {
	case "FloorDiv", "CleanDiv":
		return func(_ *sreprParser, x []Expr) (Expr, error) { return FloorDiv(x[0], x[1]), nil }, 2
	case "CeilDiv":
		return func(_ *sreprParser, x []Expr) (Expr, error) { return CeilDiv(x[0], x[1]), nil }, 2
	case "Mod", "PythonMod":
		return func(_ *sreprParser, x []Expr) (Expr, error) { return Mod(x[0], x[1]), nil }, 2
	case "ModularIndexing":
		return func(_ *sreprParser, x []Expr) (Expr, error) {
			return Mod(FloorDiv(x[0], x[1]), x[2]), nil
		}, 3
	case "Identity":
		return func(_ *sreprParser, x []Expr) (Expr, error) { return x[0], nil }, 1
	case "LShift":
		return func(p *sreprParser, x []Expr) (Expr, error) {
			f, err := p.powerOfTwo(x[1])
			if err != nil {
				return Expr{}, err
			}
			return Mul(x[0], f), nil
		}, 2
	case "RShift":
		return func(p *sreprParser, x []Expr) (Expr, error) {
			f, err := p.powerOfTwo(x[1])
			if err != nil {
				return Expr{}, err
			}
			return FloorDiv(x[0], f), nil
		}, 2
	}
	return nil, 0
}

func (p *sreprParser) powerOfTwo(e Expr) (Expr, error) {
	n, ok := e.Const()
	if !ok || n < 0 || n > 62 {
		return Expr{}, p.errorf("shift by %s", e)
	}
	return Int(1 << n), nil
}

// fold adds or multiplies fractions.
func (p *sreprParser) fold(name string, args []value) (value, error) {
	acc := whole(Int(0))
	if name == "Mul" {
		acc = whole(Int(1))
	}
	for _, v := range args {
		var err error
		if name == "Mul" {
			acc, err = p.mulValues(acc, v)
		} else {
			acc, err = p.addValues(acc, v)
		}
		if err != nil {
			return value{}, err
		}
	}
	return acc, nil
}

func (p *sreprParser) mulValues(a, b value) (value, error) {
	num, err := p.product(a.num, b.num)
	if err != nil {
		return value{}, err
	}
	den, err := p.product(a.den, b.den)
	return value{num: num, den: den, float: a.float || b.float}, err
}

func (p *sreprParser) addValues(a, b value) (value, error) {
	float := a.float || b.float
	if a.den.Equal(b.den) {
		e := Add(a.num, b.num)
		return value{num: e, den: a.den, float: float}, p.check(e)
	}
	x, err := p.product(a.num, b.den)
	if err != nil {
		return value{}, err
	}
	y, err := p.product(b.num, a.den)
	if err != nil {
		return value{}, err
	}
	den, err := p.product(a.den, b.den)
	return value{num: Add(x, y), den: den, float: float}, err
}

func (p *sreprParser) trueDiv(args []value) (value, error) {
	if err := p.arity("IntTrueDiv", len(args), 2); err != nil {
		return value{}, err
	}
	num, err := p.product(args[0].num, args[1].den)
	if err != nil {
		return value{}, err
	}
	den, err := p.product(args[0].den, args[1].num)
	return value{num: num, den: den, float: true}, err
}

// round turns a fraction into an integer.
func (p *sreprParser) round(name string, args []value) (value, error) {
	if err := p.arity(name, len(args), 1); err != nil {
		return value{}, err
	}
	num, den := args[0].num, args[0].den
	switch name {
	case "FloorToInt", "floor":
		return whole(FloorDiv(num, den)), nil
	case "CeilToInt", "ceiling":
		return whole(CeilDiv(num, den)), nil
	}
	if NonNegative(num) && NonNegative(den) {
		return whole(FloorDiv(num, den)), nil
	}
	if NonNegative(den) { // towards zero
		up := FloorDiv(Max(num, Int(0)), den)
		down := FloorDiv(Max(Neg(num), Int(0)), den)
		return whole(Sub(up, down)), nil
	}
	return value{}, p.errorf("TruncToInt of a division by %s, whose sign is not known",
		quote(den.String()))
}

// maxPower bounds constant exponents.
const maxPower = 64

func (p *sreprParser) pow(args []value) (value, error) {
	if err := p.arity("Pow", len(args), 2); err != nil {
		return value{}, err
	}
	base := args[0]
	exp, err := p.integer(args[1])
	if err != nil {
		return value{}, err
	}
	n, ok := exp.Const()
	if !ok || n < -maxPower || n > maxPower {
		return value{}, p.errorf("power with exponent %s", quote(exp.String()))
	}
	if n < 0 {
		base.num, base.den = base.den, base.num
		n = -n
	}
	out := whole(Int(1))
	for range n {
		if out, err = p.mulValues(out, base); err != nil {
			return value{}, err
		}
	}
	return out, nil
}
