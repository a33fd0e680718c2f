// d[m,n] = sum[k] a[m,k] * b[n,k] of f32, on the emulator: the same as gemm.c, in C++17.
//
//   tilewright build specs/gemm -o gemm.zip
//   cargo build --release --package tilewright-capi && runtime/capi/install.sh installed
//   c++ -std=c++17 -I installed/include runtime/examples/cpp/gemm.cpp -o gemm -L installed/lib
//       -Wl,-rpath,$PWD/installed/lib -ltilewright                        (all of it one line)
//   ./gemm gemm.zip
//
// On a GPU open with Options::cuda(), say problem.on(Device::cuda()) before the operands, give
// addresses of the device, and enqueue on a stream.
#include <iostream>
#include <vector>

#include "tilewright.hpp"

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " BUNDLE\n";
        return 2;
    }
    constexpr int m = 17, n = 20, k = 33;
    std::vector<float> a(m * k), b(n * k), d(m * n);
    for (int i = 0; i < m * k; i++) {
        a[i] = static_cast<float>(i % 7 - 3);
    }
    for (int i = 0; i < n * k; i++) {
        b[i] = static_cast<float>(i % 5 - 2);
    }

    auto runtime = tilewright::Runtime::open(argv[1], tilewright::Options::emulator());
    tilewright::Problem problem;
    problem.operand("a", a.data(), {m, k}).operand("b", b.data(), {n, k});
    problem.operand("d", tilewright::View<float>(d), {m, n});
    auto launch = runtime.prepare("gemm", problem);
    launch.enqueue();

    int wrong = 0;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int at = 0; at < k; at++) {
                sum += a[i * k + at] * b[j * k + at];
            }
            wrong += d[i * n + j] != sum;
        }
    }
    std::cout << runtime.kernel(launch.kernel()).id << ": " << wrong << " of " << m * n
              << " elements are wrong\n";
    return wrong != 0;
} catch (const tilewright::Error &error) {
    std::cerr << error.status_name() << ": " << error.what() << "\n";
    return 1;
}
