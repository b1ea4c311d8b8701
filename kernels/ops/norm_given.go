package ops

import "github.com/etgen/etgen/ir"

// batchNormGiven is batch norm that in training writes to its running
// statistics; outside of training it is batchNormEval.
func batchNormGiven() Op {
	eval := "aten._native_batch_norm_legit_no_training.default"
	return Op{
		Schema: "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			if c.Bool("training") {
				ts, err := batchNormTrain("", true).Infer(c)
				return ts[:min(3, len(ts))], err
			}
			return batchNormEval().Infer(c)
		},
		Writes: func(b *Builder, c *Call) ([]*ir.Value, error) {
			return b.batchNormKeeping(c), nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			if c.Bool("training") {
				return nil,
					c.Errorf(
						"it writes to its running statistics, which only functionalisation can say")
			}
			return b.Ops(eval, c.Arg("input"), c.Arg("weight"), c.Arg("bias"),
				c.Arg("running_mean"), c.Arg("running_var"), c.Arg("momentum"), c.Arg("eps")), nil
		},
	}
}
