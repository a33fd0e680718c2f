// One product of files: d[m,n] = sum[k] a[m,k] * b[n,k] of bf16, by the kernel of that id.
//
//   cargo build --release --package tilewright-capi && runtime/capi/install.sh installed
//   c++ -std=c++17 -O2 -I installed/include runtime/capi/bench/product.cpp -o product -L installed/lib
//       -Wl,-rpath,$PWD/installed/lib -ltilewright -ldl                   (all of it one line)
//   ./product BUNDLE KERNEL cuda|emulator M N K A B D
//
// A, B and D are files of elements, row after row. See runtime/python/bench/equal.py, which compares what
// is written with what Rust and Python write.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "tilewright.hpp"

namespace {

std::vector<char> read(const char *path, std::size_t bytes) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
    require(file && all.size() == bytes, std::string(path) + " has " + std::to_string(all.size()) +
                                             " bytes; it must have " + std::to_string(bytes));
    return all;
}

// The place of that kernel in the bundle.
std::uint64_t place(const tilewright::Runtime &runtime, const std::string &id) {
    for (std::uint64_t at = 0; at < runtime.kernel_count(); at++) {
        if (runtime.kernel(at).id == id) {
            return at;
        }
    }
    require(false, "the bundle has no kernel " + id);
    return 0;
}

} // namespace

int main(int argc, char **argv) try {
    if (argc != 10) {
        std::cerr << "usage: " << argv[0] << " BUNDLE KERNEL cuda|emulator M N K A B D\n";
        return 2;
    }
    const std::int64_t m = std::atoll(argv[4]), n = std::atoll(argv[5]), k = std::atoll(argv[6]);
    require(m > 0 && n > 0 && k > 0, "extents must be 1 or more");
    const bool on_gpu = std::string(argv[3]) == "cuda";
    auto bytes = [](std::int64_t rows, std::int64_t columns) {
        return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    std::vector<char> a = read(argv[7], bytes(m, k)), b = read(argv[8], bytes(n, k));
    std::vector<char> d(bytes(m, n));

    void *at[3] = {a.data(), b.data(), d.data()};
    std::optional<Gpu> gpu;
    tilewright::Problem problem;
    if (on_gpu) {
        gpu.emplace();
        problem.on(tilewright::Device::cuda());
        for (auto [to, from] : {std::pair{&at[0], &a}, {&at[1], &b}, {&at[2], &d}}) {
            *to = gpu->alloc(from->size());
            gpu->upload(*to, from->data(), from->size());
        }
    }
    const auto options = on_gpu ? tilewright::Options::cuda() : tilewright::Options::emulator();
    const auto runtime = tilewright::Runtime::open(argv[1], options);
    problem.operand("a", at[0], tilewright::bf16, {m, k});
    problem.operand("b", at[1], tilewright::bf16, {n, k});
    problem.operand("d", at[2], tilewright::bf16, {m, n});
    runtime.prepare(place(runtime, argv[2]), problem).enqueue(on_gpu ? gpu->stream : nullptr);
    if (on_gpu) {
        gpu->wait();
        gpu->download(d.data(), at[2], d.size());
    }
    std::ofstream file(argv[9], std::ios::binary);
    file.write(d.data(), static_cast<std::streamsize>(d.size()));
    return file.flush() ? 0 : 1;
} catch (const tilewright::Error &error) {
    std::cerr << error.status_name() << ": " << error.what() << "\n";
    return 1;
}
