/* VNNI's instructions by their definition, for processors that lack them: AVX512 or AVXVNNI says
   which macro a compiler that has them would define. */
#include <immintrin.h>
#include <stdint.h>

typedef int32_t emulated256 __attribute__((vector_size(32), may_alias));
typedef int32_t emulated512 __attribute__((vector_size(64), may_alias));

static inline int32_t emulated_four(int32_t a, int32_t x, int32_t w)
{
    for (int i = 0; i < 32; i += 8) {
        a += (int32_t)(((uint32_t)x >> i) & 255u) * (int8_t)(uint8_t)((uint32_t)w >> i);
    }
    return a;
}

static inline emulated256 emulated_dp256(emulated256 a, emulated256 x, emulated256 w)
{
    for (int i = 0; i < 8; i++) {
        a[i] = emulated_four(a[i], x[i], w[i]);
    }
    return a;
}

static inline emulated512 emulated_dp512(emulated512 a, emulated512 x, emulated512 w)
{
    for (int i = 0; i < 16; i++) {
        a[i] = emulated_four(a[i], x[i], w[i]);
    }
    return a;
}

#if defined(EMULATE_AVX512)
#define __AVX512VNNI__ 1
#define _mm512_set1_epi32(x) ((emulated512){0} + (x))
#define _mm512_dpbusd_epi32(a, x, w) (__m512i)emulated_dp512((emulated512)(a), (emulated512)(x), (emulated512)(w))
#else
#define __AVXVNNI__ 1
#define _mm256_dpbusd_avx_epi32(a, x, w) (__m256i)emulated_dp256((emulated256)(a), (emulated256)(x), (emulated256)(w))
#endif
