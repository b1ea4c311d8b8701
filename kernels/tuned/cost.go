package tuned

// secondCache is the bytes of the cache behind the first that kernels for hosts
// count on.
const secondCache = 1 << 20
