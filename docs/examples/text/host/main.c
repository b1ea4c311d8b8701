/* Goes on with a text, character by character. */
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { CONTEXT = 128, CHARACTERS = TEXT_OUT_BYTES / sizeof(float) };

static _Alignas(TEXT_ARENA_ALIGN) unsigned char arena[TEXT_ARENA_SIZE];
static text_state state;

int main(int argc, char **argv)
{
    char out[CONTEXT + 2] = "";
    float scores[CHARACTERS];

    if (argc != 2 || argv[1][0] == 0 || strlen(argv[1]) >= CONTEXT) {
        fprintf(stderr, "usage: rhymes-c PROMPT\n");
        return 2;
    }
    strcpy(out, argv[1]);
    text_reset(&state);
    for (int64_t i = 0; i < CONTEXT && !strstr(out, "\n\n"); i++) {
        if (out[i] == 0) {
            int best = 0;
            for (int c = 1; c < CHARACTERS; c++) {
                best = scores[c] > scores[best] ? c : best;
            }
            out[i] = (char)best;
        }
        int64_t character = out[i];
        if (text_forward(&character, &i, scores, &state, arena) != TEXT_OK) {
            fprintf(stderr, "the model fails\n");
            return 1;
        }
    }
    for (size_t n = strlen(out); n > 0 && out[n - 1] == '\n'; n--) {
        out[n - 1] = 0;
    }
    puts(out);
    return 0;
}
