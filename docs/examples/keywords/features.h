#ifndef FEATURES_H
#define FEATURES_H

#include <stdint.h>

enum { FEATURES_STEP = 320, FEATURES_WINDOW = 640, FEATURES_COUNT = 10 };

/* The last samples: a frame is made of two steps. 20 ms are a step, at 16 kHz. */
typedef struct {
    float samples[FEATURES_WINDOW];
} features;

/* Computes the tables. Call it once. */
void features_start(void);

/* Takes the samples of a step and gives the features of the frame that ends with it: the
   mel-frequency cepstral coefficients that the model was trained with. */
void features_push(features *f, const int16_t step[FEATURES_STEP], float out[FEATURES_COUNT]);

#endif
