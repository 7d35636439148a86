/* C = A*B of f32, on the first GPU, or on an emulated one where there is none. With the argument "emulator", always on that. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sgemm.h"

enum { M = 50, N = 30, K = 40 };

static void check(sgemm_status_t status) {
    if (status != SGEMM_SUCCESS) {
        fprintf(stderr, "%s: %s\n", sgemm_status_string(status), sgemm_last_error());
        exit(1);
    }
}

int main(int argc, char **argv) {
    sgemm_handle_t handle;
    int is_emulated = argc > 1 && strcmp(argv[1], "emulator") == 0;
    if (is_emulated || sgemm_create_cuda(&handle, 0) != SGEMM_SUCCESS) {
        check(sgemm_create_emulator(&handle, "h200"));
    }

    sgemm_problem_t problem;
    sgemm_plan_t plan;
    check(sgemm_problem_init(&problem, M, N, K));
    check(sgemm_plan_create(handle, &problem, SGEMM_UNLIMITED, &plan));

    float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5) / 4.0f;
    sgemm_arguments_t arguments = {0};
    arguments.alpha = 2.0f;
    arguments.a = a;
    arguments.b = b;
    arguments.c = c;
    check(sgemm_run_host(plan, &arguments));

    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0.0;
            for (int l = 0; l < K; l++) sum += (double)a[i * K + l] * b[l * N + j];
            /* All sums are exact. */
            if ((double)c[i * N + j] != 2.0 * sum) {
                fprintf(stderr, "C[%d][%d] = %g, not %g\n", i, j, c[i * N + j], 2.0 * sum);
                return 1;
            }
        }
    }
    const char *kernel, *device;
    check(sgemm_plan_kernel(plan, &kernel));
    check(sgemm_device_name(handle, &device));
    printf("%s on %s, sgemm %s\n", kernel, device, sgemm_version());
    check(sgemm_plan_destroy(plan));
    check(sgemm_destroy(handle));
    return 0;
}
