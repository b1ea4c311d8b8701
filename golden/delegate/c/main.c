/* Runs the method and prints its results. */
#include "net.h"

#include <stdio.h>

int main(void)
{
    static _Alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_SIZE + 1];
    const float x[4] = {1.0f, -2.0f, 3.0f, 0.5f};
    const float image[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float sum[4], shown[8];
    if (net_delegates_init() != NET_OK) {
        printf("init fails\n");
        return 0;
    }
    if (net_forward(x, image, sum, shown, arena) != NET_OK) {
        printf("forward fails with %d\n", net_forward(x, image, sum, shown, arena) == NET_ERR_DELEGATE);
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        printf("%g ", sum[i]);
    }
    for (int i = 0; i < 8; i++) {
        printf("%g ", shown[i]);
    }
    printf("\n");
    return 0;
}
