#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

/* Waits for n samples of the microphone, 16 kHz. Returns false when there are no more. */
bool board_listen(int16_t *samples, int n);

/* Prints on the console. */
void board_print(const char *text);

/* The application. */
void application(void);

#endif
