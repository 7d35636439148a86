// A strided batch of products of f32 with one B, A stored by columns, by a class that owns handle and plan.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "sgemm.h"

namespace {

void check(sgemm_status_t status) {
    if (status != SGEMM_SUCCESS) throw std::runtime_error(sgemm_last_error());
}

class Gemm {
public:
    Gemm(const char *emulated, const sgemm_problem_t &problem) {
        check(emulated ? sgemm_create_emulator(&handle, emulated) : sgemm_create_cuda(&handle, 0));
        sgemm_status_t status = sgemm_plan_create(handle, &problem, SGEMM_UNLIMITED, &plan);
        if (status != SGEMM_SUCCESS) {
            std::string message = sgemm_last_error();
            sgemm_destroy(handle);
            throw std::runtime_error(message);
        }
    }
    Gemm(const Gemm &) = delete;
    Gemm &operator=(const Gemm &) = delete;
    ~Gemm() {
        sgemm_plan_destroy(plan);
        sgemm_destroy(handle);
    }

    void run(const std::vector<float> &a, const std::vector<float> &b, std::vector<float> &c) const {
        sgemm_arguments_t arguments{};
        arguments.alpha = 1.0f;
        arguments.a = a.data();
        arguments.b = b.data();
        arguments.c = c.data();
        check(sgemm_run_host(plan, &arguments));
    }

private:
    sgemm_handle_t handle = nullptr;
    sgemm_plan_t plan = nullptr;
};

}  // namespace

int main(int argc, char **argv) try {
    const std::size_t count = 3, m = 20, n = 16, k = 24;
    const bool is_emulated = argc > 1 && std::strcmp(argv[1], "emulator") == 0;
    sgemm_problem_t problem;
    check(sgemm_problem_init(&problem, m, n, k));
    problem.a = sgemm_column_major(m);
    problem.batch_count = count;
    problem.batch_stride_a = m * k;
    problem.batch_stride_c = m * n;

    // A wrong leading dimension is an error with a message, of a plan that is not made.
    sgemm_problem_t bad = problem;
    bad.c = sgemm_row_major(n - 1);
    try {
        Gemm refused(is_emulated ? "h200" : nullptr, bad);
        return 1;
    } catch (const std::runtime_error &error) {
        std::printf("refused: %s\n", error.what());
    }

    std::vector<float> a(count * m * k), b(k * n), c(count * m * n, NAN);
    for (std::size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i % 11) - 5.0f;
    for (std::size_t i = 0; i < b.size(); i++) b[i] = static_cast<float>(i % 3);
    Gemm(is_emulated ? "h200" : nullptr, problem).run(a, b, c);
    for (std::size_t p = 0; p < count; p++) {
        for (std::size_t i = 0; i < m; i++) {
            for (std::size_t j = 0; j < n; j++) {
                double sum = 0.0;
                for (std::size_t l = 0; l < k; l++) sum += double(a[p * m * k + l * m + i]) * b[l * n + j];
                // All sums are exact.
                if (c[p * m * n + i * n + j] != sum) {
                    std::fprintf(stderr, "product %zu is wrong at %zu, %zu\n", p, i, j);
                    return 1;
                }
            }
        }
    }
    std::printf("%zu products are right\n", count);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
