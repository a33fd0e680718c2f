/* d[m,n] = sum[k] a[m,k] * b[n,k] of f32, on the emulator: opens a bundle, chooses a kernel for the
 * problem, launches it, and compares with a loop.
 *
 *   tilewright build specs/gemm -o gemm.zip
 *   cargo build --release --package tilewright-capi && runtime/capi/install.sh installed
 *   cc -std=c99 -I installed/include runtime/examples/c/gemm.c -L installed/lib \
 *       -Wl,-rpath,$PWD/installed/lib -ltilewright -o gemm
 *   ./gemm gemm.zip
 *
 * On a GPU set the backend to TW_BACKEND_CUDA, let `data` be addresses of the device and
 * `device_type` TW_DEVICE_CUDA, and give tw_enqueue a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright.h"

/* Ends the program with what the library says. */
static void check(tw_status status, const char *what) {
    if (status == TW_OK) {
        return;
    }
    tw_error *error = tw_last_error();
    fprintf(stderr, "%s: %s: %s\n", what, tw_status_name(status), tw_error_message(error));
    tw_error_free(error);
    exit(1);
}

/* A matrix of f32 in memory of the host, rows packed. */
static tw_operand matrix(const char *name, float *data, const int64_t extents[2]) {
    tw_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.name = name;
    operand.data = data;
    operand.bytes = (uint64_t)(extents[0] * extents[1]) * sizeof(float);
    operand.extents = extents;
    operand.dtype_code = TW_DTYPE_FLOAT;
    operand.dtype_bits = 32;
    operand.dtype_lanes = 1;
    operand.rank = 2;
    operand.device_type = TW_DEVICE_CPU;
    return operand;
}

int main(int argc, char **argv) {
    enum { M = 17, N = 20, K = 33 };
    static float a[M * K], b[N * K], d[M * N];
    if (argc != 2) {
        fprintf(stderr, "usage: %s BUNDLE\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)(i % 7 - 3);
    }
    for (int i = 0; i < N * K; i++) {
        b[i] = (float)(i % 5 - 2);
    }

    tw_open_options options = {.struct_size = sizeof options, .backend = TW_BACKEND_EMULATOR};
    tw_runtime *runtime = NULL;
    check(tw_open(argv[1], &options, &runtime), "open");

    const int64_t mk[2] = {M, K}, nk[2] = {N, K}, mn[2] = {M, N};
    const tw_operand operands[3] = {matrix("a", a, mk), matrix("b", b, nk), matrix("d", d, mn)};
    tw_problem problem = {
        .struct_size = sizeof problem, .operands = operands, .operand_count = 3};
    tw_selection selection = {.struct_size = sizeof selection};
    check(tw_select(runtime, "gemm", &problem, &selection), "select");
    tw_kernel_info kernel = {.struct_size = sizeof kernel};
    check(tw_kernel(runtime, selection.kernel, &kernel), "kernel");

    tw_launch *launch = NULL;
    check(tw_prepare(runtime, selection.kernel, &problem, &launch), "prepare");
    check(tw_enqueue(launch, NULL, NULL, 0), "enqueue");

    int wrong = 0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) {
                sum += a[i * K + k] * b[j * K + k];
            }
            wrong += d[i * N + j] != sum;
        }
    }
    printf("%s: %d of %d elements are wrong\n", kernel.id, wrong, M * N);
    check(tw_launch_free(launch), "free");
    check(tw_close(runtime), "close");
    return wrong != 0;
}
