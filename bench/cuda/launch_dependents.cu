// What it costs a GPU that CTAs let the next kernel be launched: copies of one size by CTAs of
// several, whose CTAs wait for the kernel before (griddepcontrol.wait) and, all of them, none of
// them, or the last ones alone, say so (griddepcontrol.launch_dependents).
//
//   nvcc -std=c++17 -O3 -arch=sm_90a bench/cuda/launch_dependents.cu -o launch_dependents
//   ./launch_dependents
//
// Launches are replayed from graphs over buffers that no cache holds; the ways take turns. Prints
// the median time of a launch for each, in microseconds.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 8;

void require(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        std::exit(2);
    }
}

enum Say { none, every, last };

// CTAs from `from` on are the last ones.
template <bool waits, Say say, int threads, int vectors>
__global__ void __launch_bounds__(threads) copy(const uint4 *from, uint4 *to, unsigned first_last) {
    if (waits) {
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }
    if (say == every || (say == last && blockIdx.x >= first_last)) {
        asm volatile("griddepcontrol.launch_dependents;");
    }
    const size_t at = size_t(blockIdx.x) * threads * vectors + threadIdx.x;
    uint4 held[vectors];
#pragma unroll
    for (int i = 0; i < vectors; i++) {
        held[i] = from[at + i * threads];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < vectors; i++) {
        to[at + i * threads] = held[i];
    }
}

template <bool waits, Say say, int threads, int vectors>
void launch(const char *from, char *to, unsigned ctas, unsigned lasts, cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(ctas);
    config.blockDim = dim3(threads);
    config.stream = stream;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = waits;
    require(cudaLaunchKernelEx(&config, copy<waits, say, threads, vectors>,
                               reinterpret_cast<const uint4 *>(from), reinterpret_cast<uint4 *>(to),
                               ctas - std::min(lasts, ctas)),
            "launch");
}

struct Way {
    std::string name;
    cudaGraphExec_t graph;
    std::vector<float> us;
};

template <int threads, int vectors>
void measure(size_t bytes) {
    const unsigned ctas = bytes / (16 * threads * vectors);
    const size_t sets = std::max<size_t>(2, (size_t(512) << 20) / (2 * bytes) + 1);
    const int launches = std::max<int>(sets, 1.5e-3 / (2 * bytes / 4.1e12));
    std::vector<char *> from(sets), to(sets);
    for (size_t set = 0; set < sets; set++) {
        require(cudaMalloc(&from[set], bytes), "cudaMalloc");
        require(cudaMalloc(&to[set], bytes), "cudaMalloc");
        require(cudaMemset(from[set], 1, bytes), "cudaMemset");
    }
    cudaStream_t stream;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    std::vector<Way> ways;
    using Launch = void (*)(const char *, char *, unsigned, unsigned, cudaStream_t);
    auto add = [&](const std::string &name, Launch one, unsigned lasts) {
        cudaGraph_t graph;
        Way way{name, nullptr, {}};
        require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
        for (int i = 0; i < launches; i++) {
            one(from[i % sets], to[i % sets], ctas, lasts, stream);
        }
        require(cudaStreamEndCapture(stream, &graph), "capture");
        require(cudaGraphInstantiate(&way.graph, graph, 0), "cudaGraphInstantiate");
        ways.push_back(way);
    };
    add("plain", launch<false, none, threads, vectors>, 0);
    add("every CTA says so", launch<true, every, threads, vectors>, 0);
    add("only waits", launch<true, none, threads, vectors>, 0);
    for (unsigned lasts : {132, 528, 2112, 8448}) {
        add("the last " + std::to_string(lasts), launch<true, last, threads, vectors>, lasts);
    }
    cudaEvent_t start, end;
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&end), "cudaEventCreate");
    for (int round = 0; round < rounds; round++) {
        for (Way &way : ways) {
            float ms = 0;
            require(cudaEventRecord(start, stream), "cudaEventRecord");
            require(cudaGraphLaunch(way.graph, stream), "cudaGraphLaunch");
            require(cudaEventRecord(end, stream), "cudaEventRecord");
            require(cudaEventSynchronize(end), "cudaEventSynchronize");
            require(cudaEventElapsedTime(&ms, start, end), "cudaEventElapsedTime");
            if (round > 0) {
                way.us.push_back(ms * 1e3f / launches);
            }
        }
    }
    std::printf("%d bytes a CTA, %u CTAs\n", 16 * threads * vectors, ctas);
    for (Way &way : ways) {
        std::sort(way.us.begin(), way.us.end());
        std::printf("   %-18s %8.2f us\n", way.name.c_str(), way.us[way.us.size() / 2]);
        require(cudaGraphExecDestroy(way.graph), "cudaGraphExecDestroy");
    }
    for (size_t set = 0; set < sets; set++) {
        require(cudaFree(from[set]), "cudaFree");
        require(cudaFree(to[set]), "cudaFree");
    }
}

} // namespace

int main() {
    measure<128, 1>(size_t(134) << 20);
    measure<128, 2>(size_t(134) << 20);
    measure<512, 2>(size_t(134) << 20);
    measure<128, 1>(size_t(1) << 19);
    measure<512, 2>(size_t(1) << 19);
}
