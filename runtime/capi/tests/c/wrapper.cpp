// The C++ wrapper: ownership, exceptions, views, and every kind of argument.
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tilewright.hpp"

using namespace tilewright;

static_assert(!std::is_copy_constructible_v<Runtime> && !std::is_copy_assignable_v<Launch>);
static_assert(std::is_nothrow_move_constructible_v<Runtime>);
static_assert(std::is_nothrow_move_assignable_v<Launch>);
static_assert(dtype_of<float>() == DType{TW_DTYPE_FLOAT, 32});
static_assert(dtype_of<const std::int8_t>() == DType{TW_DTYPE_INT, 8});
static_assert(dtype_of<unsigned long long>() == DType{TW_DTYPE_UINT, 64});
static_assert(dtype_of<bool>() == DType{TW_DTYPE_BOOL, 8} && bf16 != f16);

static void require(bool condition, int line) {
    if (!condition) {
        std::cerr << "wrapper.cpp:" << line << "\n";
        std::exit(1);
    }
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__)

// The error that a call throws.
template <class Call>
static Error thrown(Call call, int line) {
    try {
        call();
    } catch (const Error &error) {
        REQUIRE(tw_last_error() == nullptr);
        return error;
    }
    require(false, line);
    std::abort();
}
#define THROWN(...) thrown([&] { __VA_ARGS__; }, __LINE__)

static void errors(const Runtime &runtime, const char *path) {
    const Error nowhere = THROWN(Runtime::open("/nowhere", Options::emulator()));
    REQUIRE(nowhere.status() == TW_ERROR_BUNDLE && std::strstr(nowhere.what(), "/nowhere"));
    REQUIRE(std::string(nowhere.status_name()) == "bundle" && nowhere.reasons().empty());

    std::array<float, 64> a{}, d{};
    Problem problem;
    problem.operand("a", a.data(), {8, 8}).operand("b", a.data(), {8, 7});
    problem.operand("d", View<float>(d.data(), 63), {8, 8});
    const Error refused = THROWN(runtime.prepare("gemm_f32", problem));
    REQUIRE(refused.status() == TW_ERROR_REFUSED && refused.reasons().size() == 1);
    const Reason &shape = refused.reasons()[0];
    REQUIRE(shape.kind == "shape" && shape.operand == "b");
    REQUIRE(shape.needed == "8" && shape.has == "7");

    Problem small;
    small.operand("s", a.data(), {8, 8}).operand("d", View<float>(d.data(), 63), {8, 8});
    const Error bytes = THROWN(runtime.prepare("copy", small));
    REQUIRE(std::strstr(bytes.what(), "needs 256 bytes from its offset; the buffer has 252"));
    const Error strides = THROWN(small.operand("x", a.data(), {8, 8}, {8}));
    REQUIRE(strides.status() == TW_ERROR_ARGUMENT);
    REQUIRE(THROWN(runtime.find("gemn")).status() == TW_ERROR_UNKNOWN);
    REQUIRE(THROWN(Runtime::open(path, Options::cuda(99999))).status() == TW_ERROR_DEVICE);
    REQUIRE(THROWN(runtime.kernel(99)).status() == TW_ERROR_UNKNOWN);
}

static void listing(const Runtime &runtime) {
    REQUIRE(runtime.device_name() == "emulator");
    REQUIRE(runtime.kernels().size() == 7 && runtime.functions().size() == 5);
    const Kernel kernel = runtime.kernel(runtime.find("looked_up_f32"));
    REQUIRE(kernel.id == "looked_up_f32@plain-1" && kernel.operands.size() == 4);
    REQUIRE(kernel.operands[1].name == "from" && kernel.operands[1].type == DType{TW_DTYPE_INT, 32});
    REQUIRE(kernel.assumptions.size() == 1 && !kernel.assumptions[0].promise.empty());
    REQUIRE(kernel.operands[3].is_written && kernel.operands[3].over.empty());
}

// Scalars, strides, scratch memory, and handles that move.
static void launching(const char *path) {
    std::array<float, 12> s{}, d{};
    for (std::size_t i = 0; i < s.size(); i++) {
        s[i] = static_cast<float>(i);
    }
    Runtime runtime = Runtime::open(path, Options::emulator(2));
    Problem problem;
    problem.operand("s", static_cast<const float *>(s.data()), {2, 4}, {8, 1});
    problem.operand("d", View<float>(d), {2, 4}).scalar("alpha", 3);
    Launch first = runtime.prepare("scaled", problem);
    REQUIRE(first.workspace_bytes() == 32 && first.workspace_alignment() == 256);
    REQUIRE(first.problem().find("alpha=3") != std::string::npos);
    Launch launch = std::move(first);
    REQUIRE(first.get() == nullptr && THROWN(first.enqueue()).status() == TW_ERROR_NULL);
    Runtime other = std::move(runtime);
    REQUIRE(THROWN(runtime.kernel_count()).status() == TW_ERROR_NULL);
    other = Runtime::open(path, Options::emulator());
    launch.enqueue();
    alignas(256) std::array<unsigned char, 256> scratch{};
    launch.enqueue(nullptr, scratch.data(), scratch.size());
    for (std::size_t i = 0; i < 8; i++) {
        REQUIRE(d[i] == 3 * s[i / 4 * 8 + i % 4]);
    }
    REQUIRE(d[8] == 0);
    const std::string told = other.explain("scaled", problem);
    REQUIRE(told.find("chosen: scaled_f32@plain-1 (untuned)") != std::string::npos);
    REQUIRE(other.select("scaled", problem).source == TW_SOURCE_UNTUNED);
}

// A packed operand, launched with.
static void packing(const Runtime &runtime) {
    const std::array<float, 6> elements{1, 2, 3, 4, 5, 6};
    std::array<float, 6> copied{};
    Problem sizes;
    sizes.extent("m", 2).extent("n", 3);
    const std::size_t kernel = runtime.find("copy_packed");
    const std::size_t bytes = sizeof elements;
    auto bytes_of = runtime.pack(kernel, "s", sizes, elements.data(), bytes);
    std::array<float, 8> packed{};
    REQUIRE(bytes_of.size() == sizeof packed);
    std::memcpy(packed.data(), bytes_of.data(), sizeof packed);
    REQUIRE(packed[3] == 0 && packed[4] == 4);
    Problem problem;
    problem.operand("s", View<float>(packed), {8}).operand("d", View<float>(copied), {2, 3});
    runtime.prepare(kernel, problem).enqueue();
    REQUIRE(copied == elements);
    REQUIRE(THROWN(runtime.pack(kernel, "d", sizes, elements.data(), bytes)).status() ==
            TW_ERROR_ARGUMENT);
}

// A bundle whose files the program holds.
static void from_memory(const char *path) {
    std::vector<std::pair<std::string, std::vector<std::uint8_t>>> held;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::istreambuf_iterator<char> first(file), last;
            const auto name = std::filesystem::relative(entry.path(), path).generic_string();
            held.emplace_back(name, std::vector<std::uint8_t>(first, last));
        }
    }
    std::vector<File> files;
    for (const auto &[name, content] : held) {
        files.push_back({name, content});
    }
    REQUIRE(Runtime::open(files, Options::emulator()).kernel_count() == 7);
    files.pop_back();
    REQUIRE(THROWN(Runtime::open(files, Options::emulator())).status() == TW_ERROR_BUNDLE);
}

// Options, counters, and a device that a fault takes.
static void watching(const std::string &path) {
    std::ifstream key(path + ".pub");
    Options options = Options::emulator();
    options.eager = options.cubin_only = options.emulator_sticky_faults = true;
    options.ptx_cache = path + ".ptx";
    options.public_keys = {std::istreambuf_iterator<char>(key), {}};
    const Error unsigned_one = THROWN(Runtime::open(path, options));
    REQUIRE(unsigned_one.status() == TW_ERROR_BUNDLE);
    const Runtime runtime = Runtime::open(path + ".signed", options);
    const auto counted = [&](const std::string &name, const std::string &of) {
        std::uint64_t sum = 0;
        for (const Counter &counter : runtime.counters()) {
            const bool fits = of == counter.kernel || of == counter.reason;
            sum += fits && counter.name == name ? counter.value : 0;
        }
        return sum;
    };
    REQUIRE(counted("loads", "copy_f32@plain-1") == 1 && counted("fallbacks", "") == 0);
    std::array<float, 64> a{}, b{}, d{};
    Problem padded;
    padded.operand("a", a.data(), {4, 8}, {9, 1}).operand("b", b.data(), {4, 8});
    padded.operand("d", d.data(), {4, 4});
    runtime.prepare("gemm", padded).enqueue();
    REQUIRE(counted("launches", "gemm_f32@plain-2") == 1);
    REQUIRE(counted("skipped", "assumption") == 1);
    const std::string told = runtime.explain("gemm", padded);
    REQUIRE(told.find("refused: gemm_f32@picky-1: it assumes lda % 8 == 0") != std::string::npos);
    REQUIRE(counted("skipped", "assumption") == 1);

    // Two rows go to one place at once, against the caller's own word.
    a[0] = 1;
    std::array<std::int32_t, 2> from{0, 1}, to{1, 1};
    Problem astray;
    astray.operand("s", a.data(), {2, 4}).operand("d", d.data(), {2, 4});
    astray.operand("from", from.data(), {2}).operand("to", to.data(), {2});
    astray.promise(runtime.kernel(runtime.find("looked_up_f32")).assumptions[0].promise);
    const Launch launch = runtime.prepare("looked_up_f32", astray);
    REQUIRE(!runtime.is_lost() && THROWN(launch.enqueue()).status() == TW_ERROR_FAULT);
    REQUIRE(runtime.is_lost() && counted("is_lost", "") == 1);
    REQUIRE(!Runtime::open(path, Options::emulator()).is_lost());
    options.cubin_only = options.eager = false;
    options.ptx_cache = path + ".pub";
    REQUIRE(THROWN(Runtime::open(path, options)).reasons()[0].operand == "ptx_cache");
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const Runtime runtime = Runtime::open(argv[1], Options::emulator());
    listing(runtime);
    errors(runtime, argv[1]);
    launching(argv[1]);
    packing(runtime);
    from_memory(argv[1]);
    watching(argv[1]);
    std::cout << "all is well\n";
}
