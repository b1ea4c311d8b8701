/* Runs the method whose delegate decides how many rows its result has. */
#include "net.h"

#include <stdio.h>

int main(void)
{
    static _Alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_SIZE + 1];
    static const float calls[4][8] = {{-1, 2, 3, 4, -5, 6}, {1, 2}, {-1, -2, -3, 0, -5, 1, -7, 2},
        {-9, 2}};
    static const int32_t rows[4] = {3, 1, 4, 1};
    if (net_delegates_init() != NET_OK) {
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        float out[8];
        net_forward_sizes sizes = {.input_0_dim0 = rows[i], .input_0_dim1 = 2};
        if (net_forward(calls[i], out, &sizes, arena) != NET_OK) {
            printf("fails\n");
            continue;
        }
        printf("%d %d: ", (int)sizes.out_dim0, (int)sizes.out_dim1);
        for (int k = 0; k < sizes.out_dim0 * sizes.out_dim1; k++) {
            printf("%g ", out[k]);
        }
        printf("\n");
    }
    return 0;
}
