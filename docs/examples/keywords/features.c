#include "features.h"

enum { N = FEATURES_WINDOW, BINS = N / 2 + 1, MELS = 40 };

static float cosine[N]; /* of a circle in N steps */

/* The corners of the mel filters, in bins of 25 Hz: at equal distances on the mel scale,
   2595 log10(1 + f / 700), from 0 to 8000 Hz. */
static const uint16_t corners[MELS + 2] = {
    0,  1,  3,  5,  7,  10,  12,  15,  17,  20,  23,  27,  30,  34,  38,  42,  46,  51,  56,  62,  67,
    73, 80, 87, 94, 102, 110, 119, 128, 138, 148, 160, 172, 184, 198, 212, 227, 244, 261, 279, 299, 320,
};

void features_start(void)
{
    /* A step on the circle, again and again, in double: that is exact enough for a float. */
    const double c = 0.99995180699544502, s = 0.0098173219644838188; /* cos, sin of 2 pi / 640 */
    double x = 1, y = 0;
    for (int i = 0; i < N; i++) {
        double next = x * c - y * s;
        cosine[i] = (float)x;
        y = y * c + x * s;
        x = next;
    }
}

/* Natural logarithm of a positive, normal number. */
static float logarithm(float x)
{
    union {
        float f;
        uint32_t bits;
    } u = {x};
    int exponent = (int)(u.bits >> 23) - 127;
    u.bits = (u.bits & 0x007FFFFFu) | 0x3F800000u; /* 1 to 2 */
    if (u.f > 1.41421356f) {
        u.f *= 0.5f;
        exponent++;
    }
    float s = (u.f - 1) / (u.f + 1), q = s * s;
    return 0.693147181f * (float)exponent + 2 * s * (1 + q * (1.0f / 3 + q * (0.2f + q / 7)));
}

/* The Fourier transform of n samples that lie apart by a stride, n * stride = N: of the even and
   the odd ones, down to five. */
static void transform(int n, int stride, const float *in, float *re, float *im)
{
    if (n == 5) {
        for (int k = 0; k < n; k++) {
            re[k] = im[k] = 0;
            for (int j = 0; j < n; j++) {
                int angle = j * k * stride % N;
                re[k] += in[j * stride] * cosine[angle];
                im[k] += in[j * stride] * cosine[(angle + N / 4) % N]; /* minus sine */
            }
        }
        return;
    }
    int half = n / 2;
    transform(half, 2 * stride, in, re, im);
    transform(half, 2 * stride, in + stride, re + half, im + half);
    for (int k = 0; k < half; k++) {
        float c = cosine[k * stride], s = cosine[k * stride + N / 4];
        float x = re[half + k] * c - im[half + k] * s, y = re[half + k] * s + im[half + k] * c;
        re[half + k] = re[k] - x;
        im[half + k] = im[k] - y;
        re[k] += x;
        im[k] += y;
    }
}

void features_push(features *f, const int16_t step[FEATURES_STEP], float out[FEATURES_COUNT])
{
    static float windowed[N], re[N], im[N];
    float power[BINS], logs[MELS];

    for (int i = 0; i < FEATURES_STEP; i++) {
        f->samples[i] = f->samples[FEATURES_STEP + i];
        f->samples[FEATURES_STEP + i] = (float)step[i] / 32768;
    }
    for (int i = 0; i < N; i++) {
        windowed[i] = f->samples[i] * (0.5f - 0.5f * cosine[i]); /* Hann's */
    }
    transform(N, 1, windowed, re, im);
    for (int i = 0; i < BINS; i++) {
        power[i] = re[i] * re[i] + im[i] * im[i];
    }
    for (int m = 0; m < MELS; m++) {
        int left = corners[m], middle = corners[m + 1], right = corners[m + 2];
        float sum = 1e-6f;
        for (int k = left; k < middle; k++) {
            sum += power[k] * (float)(k - left) / (float)(middle - left);
        }
        for (int k = middle; k < right; k++) {
            sum += power[k] * (float)(right - k) / (float)(right - middle);
        }
        logs[m] = logarithm(sum);
    }
    for (int i = 0; i < FEATURES_COUNT; i++) {
        out[i] = 0;
        for (int m = 0; m < MELS; m++) {
            out[i] += logs[m] * cosine[(2 * m + 1) * i * (N / (4 * MELS)) % N];
        }
    }
}
