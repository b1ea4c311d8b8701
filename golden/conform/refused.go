package conform

// Refused returns the operator because of which the models of a case, the name
// of a folder, cannot become ExecuTorch programs: ExecuTorch's runtime has no kernel
// for it, and it cannot be said in others. It is "" if they can.
func Refused(name string) string {
	switch name {
	case "adaptive_max_dynamic": // windows whose sizes data decides
		return "aten.adaptive_max_pool2d.default"
	case "bessel":
		return "aten.special_bessel_j0.default"
	case "incomplete_gamma":
		return "aten.igamma.default"
	case "boxes_kept", "boxes_sharing":
		return "etgen.nms.default"
	case "deformable_convolutions":
		return "etgen.deformed_columns.default"
	case "regions_of_interest":
		return "torchvision.roi_align.default"
	case "matrix_functions":
		return "matrix_exp.default"
	case "custom_op": // has no definition in the file
		return "refzoo.scale_add"
	case "matrix_factors":
		return "aten.linalg_cholesky_ex.default"
	case "matrix_spectra":
		return "aten._linalg_eigh.default"
	case "matrix_singular", "polar_decomposition":
		return "etgen.jacobi_svd.default"
	case "linear_systems": // elimination
		return "aten.linalg_lu_factor_ex.default"
	case "random_numbers": // only rand and randn draw numbers there
		return "aten.rand_like.default"
	case "view_dtype": // nothing there looks at bits
		return "aten.view.dtype"
	}
	return ""
}
