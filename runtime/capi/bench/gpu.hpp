// The driver's calls that programs here need of a GPU, loaded at run time, so that they compile
// without CUDA.
#ifndef TILEWRIGHT_BENCH_GPU_HPP
#define TILEWRIGHT_BENCH_GPU_HPP

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void require(bool condition, const std::string &what) {
    if (!condition) {
        std::fprintf(stderr, "%s\n", what.c_str());
        std::exit(2);
    }
}

// A library loaded at run time, whose functions answer 0 when all is well.
class Library {
public:
    explicit Library(std::vector<const char *> names) {
        for (const char *name : names) {
            if (!library_) {
                library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
            }
        }
        require(library_, std::string(names.front()) + " is not there");
    }

    template <class... Args>
    void call(const char *name, Args... args) const {
        const int status = function<Args...>(name)(args...);
        require(status == 0, std::string(name) + " answers " + std::to_string(status));
    }

    template <class... Args>
    int (*function(const char *name) const)(Args...) {
        void *found = dlsym(library_, name);
        require(found, std::string(name) + " is not there");
        return reinterpret_cast<int (*)(Args...)>(found);
    }

private:
    void *library_ = nullptr;
};

using Pointer = unsigned long long;

// The device's primary context, which is Tilewright's too, and a stream of it.
struct Gpu {
    Library driver{{"libcuda.so.1"}};
    void *stream = nullptr;

    Gpu() {
        void *context = nullptr;
        driver.call("cuInit", 0u);
        driver.call("cuDevicePrimaryCtxRetain", &context, 0);
        driver.call("cuCtxSetCurrent", context);
        driver.call("cuStreamCreate", &stream, 1u);
    }

    void *alloc(std::size_t bytes) const {
        Pointer address = 0;
        driver.call("cuMemAlloc_v2", &address, bytes);
        driver.call("cuMemsetD8_v2", address, static_cast<unsigned char>(0), bytes);
        return reinterpret_cast<void *>(address);
    }

    // The copies are over when the calls return.
    void upload(void *to, const void *from, std::size_t bytes) const {
        driver.call("cuMemcpyHtoD_v2", reinterpret_cast<Pointer>(to), from, bytes);
    }

    void download(void *to, const void *from, std::size_t bytes) const {
        driver.call("cuMemcpyDtoH_v2", to, reinterpret_cast<Pointer>(from), bytes);
    }

    void wait() const { driver.call("cuStreamSynchronize", stream); }
};

#endif
