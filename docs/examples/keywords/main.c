/* Prints the words that the microphone hears. */
#include "board.h"
#include "features.h"
#include "kws.h"

enum {
    FRAMES = KWS_X_BYTES / FEATURES_COUNT, /* in a window */
    EVERY = 5,                             /* so many frames the model is called */
    CLASSES = KWS_OUT_BYTES
};

static const char *const words[CLASSES] = {
    "silence", "unknown", "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go",
};

static int8_t window[FRAMES][FEATURES_COUNT]; /* of the last second, the newest behind */
static uint8_t arena[KWS_ARENA_SIZE] __attribute__((aligned(KWS_ARENA_ALIGN)));

static int8_t quantize(float x)
{
    x = x / KWS_X_SCALE + KWS_X_ZERO_POINT;
    x = x < -128 ? -128 : x > 127 ? 127 : x;
    return (int8_t)(x < 0 ? x - 0.5f : x + 0.5f);
}

void application(void)
{
    static features state;
    int16_t samples[FEATURES_STEP];
    float coefficients[FEATURES_COUNT];
    int last = 0, times = 0; /* the best class, in how many calls */

    features_start();
    for (int frame = 0; board_listen(samples, FEATURES_STEP); frame++) {
        features_push(&state, samples, coefficients);
        for (int i = 0; i + 1 < FRAMES; i++) {
            for (int k = 0; k < FEATURES_COUNT; k++) {
                window[i][k] = window[i + 1][k];
            }
        }
        for (int k = 0; k < FEATURES_COUNT; k++) {
            window[FRAMES - 1][k] = quantize(coefficients[k]);
        }
        if (frame < FRAMES || frame % EVERY != 0) {
            continue;
        }
        int8_t scores[CLASSES];
        if (kws_forward(window[0], scores, arena) != KWS_OK) {
            board_print("the model fails\n");
            return;
        }
        int best = 0, second = -128; /* a class, a score */
        for (int i = 1; i < CLASSES; i++) {
            if (scores[i] > scores[best]) {
                second = scores[best];
                best = i;
            } else if (scores[i] > second) {
                second = scores[i];
            }
        }
        bool sure = (float)(scores[best] - second) * KWS_OUT_SCALE > 4;
        times = sure && best == last ? times + 1 : sure;
        last = best;
        if (times == 3) { /* once for a word */
            board_print(words[best]);
            board_print("\n");
        }
    }
}
