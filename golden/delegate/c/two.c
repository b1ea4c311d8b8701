/* Runs two models, which are called alike but for their names, in one arena. */
#include "both.h"
#include "net.h"
#include "other.h"

#include <stdio.h>

static void print(const float *sum, const float *shown)
{
    for (int i = 0; i < 4; i++) {
        printf("%g ", sum[i]);
    }
    for (int i = 0; i < 8; i++) {
        printf("%g ", shown[i]);
    }
    printf("\n");
}

int main(void)
{
    static _Alignas(BOTH_ARENA_ALIGN) unsigned char arena[BOTH_ARENA_SIZE];
    const float x[4] = {1.0f, -2.0f, 3.0f, 0.5f};
    const float image[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float sum[4], shown[8];
    if (net_delegates_init() != NET_OK || other_delegates_init() != OTHER_OK) {
        printf("init fails\n");
        return 0;
    }
    if (net_forward(x, image, sum, shown, arena) != NET_OK) {
        printf("net fails\n");
        return 0;
    }
    print(sum, shown);
    if (other_forward(x, image, sum, shown, arena) != OTHER_OK) {
        printf("other fails\n");
        return 0;
    }
    print(sum, shown);
    return 0;
}
