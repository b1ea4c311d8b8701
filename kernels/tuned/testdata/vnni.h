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

static inline emulated256 emulated_half(emulated512 v, int half)
{
    emulated256 to;
    for (int i = 0; i < 8; i++) {
        to[i] = v[8 * half + i];
    }
    return to;
}

/* Eight of them, with zeros behind each. */
static inline emulated512 emulated_wide(emulated256 v)
{
    emulated512 to = { 0 };
    for (int i = 0; i < 8; i++) {
        to[2 * i] = v[i];
    }
    return to;
}

#if defined(EMULATE_AVX512)
#define __AVX512VNNI__ 1
#define _mm512_set1_epi64(x) (__m512i)(emulated512){ EMULATED_PAIRS(x), EMULATED_PAIRS(x) }
#define EMULATED_PAIRS(x) EMULATED_PAIR(x), EMULATED_PAIR(x), EMULATED_PAIR(x), EMULATED_PAIR(x)
#define EMULATED_PAIR(x) (int32_t)(uint32_t)(x), (int32_t)(uint32_t)((uint64_t)(x) >> 32)
#define _mm512_maskz_cvtepu32_epi64(mask, v) (__m512i)emulated_wide((emulated256)(v))
#define _mm512_permutex2var_epi32(u, at, v) (__m512i)__builtin_shuffle((emulated512)(u), (emulated512)(v), (emulated512)(at))
#define _mm512_maskz_extracti64x4_epi64(mask, v, half) (__m256i)emulated_half((emulated512)(v), half)
#define _mm512_set1_epi32(x) ((emulated512){0} + (x))
#define _mm512_dpbusd_epi32(a, x, w) (__m512i)emulated_dp512((emulated512)(a), (emulated512)(x), (emulated512)(w))
#else
#define __AVXVNNI__ 1
#define _mm256_dpbusd_avx_epi32(a, x, w) (__m256i)emulated_dp256((emulated256)(a), (emulated256)(x), (emulated256)(w))
#endif
