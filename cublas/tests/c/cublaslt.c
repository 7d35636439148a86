/* In the place of libcublasLt.so.13: it says with which arguments it was called, and computes nothing. */
#include <string.h>

#include "calls.h"

int cublasLtMatmul(MATMUL) { return SAY("reached", "cublasLtMatmul", MATMUL_ARGUMENTS), 0; }

int cublasLtMatmulAlgoConfigSetAttribute(void *algorithm, int attribute, const void *value, size_t bytes) {
    SAY("reached", "cublasLtMatmulAlgoConfigSetAttribute", algorithm, attribute, value, bytes);
    return memcpy((char *)algorithm + 8 * attribute, value, bytes), 0;
}

static int get(const struct described *of, int attribute, void *value, size_t bytes, size_t *written) {
    if (of->bytes[attribute] == 0 || of->bytes[attribute] != bytes) return 7;
    memcpy(value, &of->values[attribute], *written = bytes);
    return 0;
}

int cublasLtMatmulDescGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written) {
    return get(of, attribute, value, bytes, written);
}
int cublasLtMatrixLayoutGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written) {
    return get(of, attribute, value, bytes, written);
}
