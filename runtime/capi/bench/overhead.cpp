// What a launch costs the host: tw_enqueue beside cuLaunchKernel of an empty kernel and beside
// cublasLtMatmul, on one stream of one GPU, bf16 products of one size.
//
//   cargo build --release --package tilewright-capi && runtime/capi/install.sh installed
//   c++ -std=c++17 -O2 -I installed/include runtime/capi/bench/overhead.cpp -o overhead -L installed/lib
//       -Wl,-rpath,$PWD/installed/lib -ltilewright -ldl                   (all of it one line)
//   ./overhead BUNDLE [M N K]        BUNDLE has a gemm of bf16, d[m,n] = sum[k] a[m,k] * b[n,k]
//
// The three take turns: each round enqueues a slice of launches of each, times the host alone, and
// waits for the GPU. Prints one JSON object a contender: median and quartiles over the rounds, in
// nanoseconds a launch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "tilewright.hpp"

namespace {

constexpr int rounds = 200, launches = 50, warm_rounds = 20;
constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

// A kernel that does nothing, by the driver's plainest launch.
std::function<void()> empty_kernel(const Gpu &gpu) {
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry nothing(.param .u64 p) { ret; }\n";
    void *module = nullptr, *kernel = nullptr;
    gpu.driver.call("cuModuleLoadData", &module, static_cast<const void *>(text));
    gpu.driver.call("cuModuleGetFunction", &kernel, module, "nothing");
    auto launch = gpu.driver.function<void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, unsigned, void *, void **, void **>(
        "cuLaunchKernel");
    void *stream = gpu.stream;
    return [=] {
        Pointer parameter = 0;
        void *parameters[] = {&parameter};
        require(launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) == 0,
                "cuLaunchKernel");
    };
}

// The first algorithm that cuBLASLt's heuristic names. Its matrices go by columns, so that the
// product of rows is that of the transposed ones: d' = b a'.
std::function<void()> cublaslt(const Gpu &gpu, std::int64_t m, std::int64_t n, std::int64_t k,
                               void *a, void *b, void *d) {
    // Values of cublasLt.h and library_types.h (CUDA 12 and 13).
    constexpr int compute_32f = 68, real_32f = 0, real_16bf = 14, transpose_a = 3, most_workspace = 1;
    struct Algorithm {
        std::uint64_t data[8];
    };
    struct Found {
        Algorithm algorithm;
        std::size_t workspace;
        int state;
        float waves;
        int reserved[4];
    };
    static const Library library{{"libcublasLt.so.13", "libcublasLt.so.12"}};
    void *handle = nullptr, *product = nullptr, *preference = nullptr;
    library.call("cublasLtCreate", &handle);
    library.call("cublasLtMatmulDescCreate", &product, compute_32f, real_32f);
    const std::int32_t transposed = 1;
    library.call("cublasLtMatmulDescSetAttribute", product, transpose_a,
                 static_cast<const void *>(&transposed), sizeof transposed);
    auto layout = [&](std::int64_t rows, std::int64_t columns) {
        void *made = nullptr;
        library.call("cublasLtMatrixLayoutCreate", &made, real_16bf,
                     static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows),
                     columns);
        return made;
    };
    void *a_layout = layout(m, k), *b_layout = layout(n, k), *d_layout = layout(m, n);
    library.call("cublasLtMatmulPreferenceCreate", &preference);
    library.call("cublasLtMatmulPreferenceSetAttribute", preference, most_workspace,
                 static_cast<const void *>(&workspace_bytes), sizeof workspace_bytes);
    Found found{};
    int count = 0;
    library.call("cublasLtMatmulAlgoGetHeuristic", handle, product, b_layout, a_layout, d_layout,
                 d_layout, preference, 1, static_cast<void *>(&found), &count);
    require(count == 1 && found.state == 0, "cuBLASLt knows no algorithm");
    void *workspace = gpu.alloc(workspace_bytes), *stream = gpu.stream;
    using Const = const void *;
    auto matmul = library.function<void *, void *, Const, Const, void *, Const, void *, Const, Const,
                                   void *, void *, void *, Const, void *, std::size_t, void *>(
        "cublasLtMatmul");
    return [=] {
        const float one = 1, zero = 0;
        require(matmul(handle, product, &one, b, b_layout, a, a_layout, &zero, d, d_layout, d,
                       d_layout, &found.algorithm, workspace, workspace_bytes, stream) == 0,
                "cublasLtMatmul");
    };
}

struct Contender {
    std::string name;
    std::function<void()> enqueue;
    std::vector<double> nanoseconds;
};

void measure(const Gpu &gpu, std::vector<Contender> &contenders) {
    for (int round = 0; round < warm_rounds + rounds; round++) {
        for (Contender &one : contenders) {
            const auto start = std::chrono::steady_clock::now();
            for (int at = 0; at < launches; at++) {
                one.enqueue();
            }
            const std::chrono::duration<double, std::nano> taken =
                std::chrono::steady_clock::now() - start;
            gpu.wait();
            if (round >= warm_rounds) {
                one.nanoseconds.push_back(taken.count() / launches);
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) try {
    if (argc != 2 && argc != 5) {
        std::fprintf(stderr, "usage: %s BUNDLE [M N K]\n", argv[0]);
        return 2;
    }
    std::int64_t extents[3] = {128, 128, 128};
    for (int at = 2; at < argc; at++) {
        extents[at - 2] = std::atoll(argv[at]);
    }
    const auto [m, n, k] = extents;
    require(m > 0 && n > 0 && k > 0, "extents must be 1 or more");

    const Gpu gpu;
    auto bytes = [](std::int64_t rows, std::int64_t columns) {
        return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    void *a = gpu.alloc(bytes(m, k)), *b = gpu.alloc(bytes(n, k)), *d = gpu.alloc(bytes(m, n));
    const auto runtime = tilewright::Runtime::open(argv[1], tilewright::Options::cuda());
    tilewright::Problem problem;
    problem.on(tilewright::Device::cuda());
    problem.operand("a", a, tilewright::bf16, {m, k}).operand("b", b, tilewright::bf16, {n, k});
    problem.operand("d", d, tilewright::bf16, {m, n});
    const auto launch = runtime.prepare("gemm", problem);
    void *workspace = launch.workspace_bytes() > 0 ? gpu.alloc(launch.workspace_bytes()) : nullptr;
    const std::uint64_t lent = workspace ? launch.workspace_bytes() : 0;

    std::vector<Contender> contenders;
    contenders.push_back({"tw_enqueue", [&] { launch.enqueue(gpu.stream, workspace, lent); }, {}});
    contenders.push_back({"cuLaunchKernel, empty", empty_kernel(gpu), {}});
    contenders.push_back({"cublasLtMatmul", cublaslt(gpu, m, n, k, a, b, d), {}});
    measure(gpu, contenders);
    for (Contender &one : contenders) {
        auto &all = one.nanoseconds;
        std::sort(all.begin(), all.end());
        std::printf("{\"what\":\"%s\",\"kernel\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,"
                    "\"median_ns\":%.0f,\"quarter_ns\":%.0f,\"three_quarters_ns\":%.0f}\n",
                    one.name.c_str(), runtime.kernel(launch.kernel()).id.c_str(),
                    static_cast<long long>(m), static_cast<long long>(n),
                    static_cast<long long>(k), all[all.size() / 2], all[all.size() / 4],
                    all[all.size() * 3 / 4]);
    }
    return 0;
} catch (const tilewright::Error &error) {
    std::fprintf(stderr, "%s: %s\n", error.status_name(), error.what());
    return 2;
}
