package lower

import (
	"strings"

	"github.com/etgen/etgen/ir"
)

// drawsRandom reports whether two calls of an operator with equal arguments
// may differ: PyTorch's tag nondeterministic_seeded.
func drawsRandom(op string) bool {
	switch strings.Trim(ir.OpBase(op), "_") {
	case "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
		"bernoulli", "binomial", "cauchy", "exponential", "geometric", "log_normal", "multinomial",
		"normal", "normal_functional", "poisson", "random", "uniform", "rrelu", "rrelu_with_noise",
		"dropout", "native_dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout",
		"fused_dropout", "fractional_max_pool2d", "fractional_max_pool3d", "sobol_engine_draw":
		return true
	}
	return false
}
