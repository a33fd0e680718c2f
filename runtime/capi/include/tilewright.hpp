// Kernels of Tilewright from C++17, over tilewright.h, whose rules of lifetimes and threads hold.
//
//   auto runtime = tilewright::Runtime::open("kernels.bundle");
//   tilewright::Problem problem;
//   problem.operand("a", a, {m, k}).operand("b", b, {n, k}).operand("d", d, {m, n});
//   auto launch = runtime.prepare(runtime.select("gemm", problem).kernel, problem);
//   launch.enqueue(stream);
//
// Runtime and Launch own their handles and move only; a launch may outlive its runtime. Whatever
// fails throws tilewright::Error. Texts are copied into std::string. Memory of operands stays the
// caller's, and must be there until the last launch is done.
#ifndef TILEWRIGHT_HPP
#define TILEWRIGHT_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilewright.h"

namespace tilewright {

// Elements that somebody else keeps: what std::span is in C++20.
template <class T>
class View {
public:
    constexpr View() noexcept = default;
    constexpr View(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    // Of anything with data() and size(): a std::vector, a std::array, a std::span.
    template <class Range,
              class = std::enable_if_t<
                  std::is_convertible_v<decltype(std::declval<Range &>().data()), T *>>>
    constexpr View(Range &range) noexcept : data_(range.data()), size_(range.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t at) const noexcept { return data_[at]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// One reason of an error; parts that it does not have are empty.
struct Reason {
    std::string kind, text, operand, needed, has;
};

// Why the library did nothing: the status, the whole message, and each reason.
class Error : public std::runtime_error {
public:
    Error(tw_status status, const std::string &message, std::vector<Reason> reasons = {})
        : std::runtime_error(message), status_(status), reasons_(std::move(reasons)) {}

    // One of TW_ERROR_*.
    tw_status status() const noexcept { return status_; }
    // Its name: "refused".
    const char *status_name() const noexcept { return tw_status_name(status_); }
    const std::vector<Reason> &reasons() const noexcept { return reasons_; }

    // Throws the thread's last error, unless all is well.
    static void check(tw_status status) {
        if (status == TW_OK) {
            return;
        }
        const Last last{tw_last_error()};
        std::vector<Reason> reasons;
        for (std::size_t at = 0; at < tw_error_reason_count(last.error); at++) {
            tw_reason raw{};
            raw.struct_size = sizeof raw;
            if (tw_error_reason(last.error, at, &raw) == TW_OK) {
                reasons.push_back({text(raw.kind), text(raw.text), text(raw.operand),
                                   text(raw.needed), text(raw.has)});
            }
        }
        throw Error(status, tw_error_message(last.error), std::move(reasons));
    }

private:
    struct Last {
        tw_error *error;
        ~Last() { tw_error_free(error); }
    };
    static std::string text(const char *from) { return from ? from : ""; }

    tw_status status_;
    std::vector<Reason> reasons_;
};

// An element type: a code of TW_DTYPE_* and bits.
struct DType {
    std::uint8_t code = TW_DTYPE_FLOAT;
    std::uint8_t bits = 32;

    friend constexpr bool operator==(DType a, DType b) noexcept {
        return a.code == b.code && a.bits == b.bits;
    }
    friend constexpr bool operator!=(DType a, DType b) noexcept { return !(a == b); }
};

// The types that C++ has no names for.
inline constexpr DType f16{TW_DTYPE_FLOAT, 16}, bf16{TW_DTYPE_BFLOAT, 16};
inline constexpr DType e4m3{TW_DTYPE_FLOAT8_E4M3FN, 8}, e5m2{TW_DTYPE_FLOAT8_E5M2, 8};

// The element type of a C++ type.
template <class T>
constexpr DType dtype_of() noexcept {
    using Bare = std::remove_cv_t<T>;
    static_assert(std::is_arithmetic_v<Bare>, "say the element type: operand(name, data, dtype, ...)");
    if constexpr (std::is_same_v<Bare, bool>) {
        return {TW_DTYPE_BOOL, 8};
    } else if constexpr (std::is_floating_point_v<Bare>) {
        static_assert(sizeof(Bare) <= 8, "kernels know no numbers of more than 64 bits");
        return {TW_DTYPE_FLOAT, 8 * sizeof(Bare)};
    } else {
        return {std::is_signed_v<Bare> ? TW_DTYPE_INT : TW_DTYPE_UINT, 8 * sizeof(Bare)};
    }
}

// Whose memory an operand lies in.
struct Device {
    std::int32_t type = TW_DEVICE_CPU;
    std::int32_t id = 0;

    static constexpr Device cpu() noexcept { return {}; }
    static constexpr Device cuda(std::int32_t id = 0) noexcept { return {TW_DEVICE_CUDA, id}; }
};

// Operands, scalars, extents and promises by name. It keeps names, extents and strides; the
// operands' memory stays the caller's. An operand lies on the device that on() named before it.
class Problem {
public:
    // The operands that follow lie here.
    Problem &on(Device device) {
        device_ = device;
        return *this;
    }

    // An operand of any element type. Strides are in elements; without them elements are packed,
    // last axis innermost. `bytes` of memory from `data` on are checked where they are given.
    Problem &operand(std::string name, const void *data, DType dtype,
                     std::vector<std::int64_t> extents, std::vector<std::int64_t> strides = {},
                     std::uint64_t bytes = 0) {
        if (!strides.empty() && strides.size() != extents.size()) {
            throw Error(TW_ERROR_ARGUMENT, "`" + name + "` has " +
                        std::to_string(extents.size()) + " extents and " +
                        std::to_string(strides.size()) + " strides: give as many, or no strides");
        }
        tw_operand raw{};
        raw.data = const_cast<void *>(data);
        raw.bytes = bytes;
        raw.dtype_code = dtype.code;
        raw.dtype_bits = dtype.bits;
        raw.dtype_lanes = 1;
        raw.rank = static_cast<std::int32_t>(extents.size());
        raw.device_type = device_.type;
        raw.device_id = device_.id;
        operands_.push_back({std::move(name), std::move(extents), std::move(strides), raw});
        return *this;
    }

    // An operand whose element type C++ knows. The pointer to an output is one to a T that may be
    // written; what a kernel only reads is never written.
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    Problem &operand(std::string name, T *data, std::vector<std::int64_t> extents,
                     std::vector<std::int64_t> strides = {}) {
        return operand(std::move(name), data, dtype_of<T>(), std::move(extents),
                       std::move(strides));
    }

    // The same with memory of a known size, which is checked.
    template <class T>
    Problem &operand(std::string name, View<T> memory, std::vector<std::int64_t> extents,
                     std::vector<std::int64_t> strides = {}) {
        return operand(std::move(name), memory.data(), dtype_of<T>(), std::move(extents),
                       std::move(strides), memory.size() * sizeof(T));
    }

    Problem &scalar(std::string name, double value) {
        scalars_.emplace_back(std::move(name), value);
        return *this;
    }

    // An extent that no operand says.
    Problem &extent(std::string name, std::int64_t value) {
        extents_.emplace_back(std::move(name), value);
        return *this;
    }

    // Confirms what a kernel cannot check, in the words of Assumption::promise.
    Problem &promise(std::string words) {
        promises_.push_back(std::move(words));
        return *this;
    }

    // Calls with the problem as C has it, which is there during the call.
    template <class Call>
    auto as_c(Call call) const {
        std::vector<tw_operand> operands;
        for (const Operand &one : operands_) {
            tw_operand raw = one.raw;
            raw.name = one.name.c_str();
            raw.extents = one.extents.data();
            raw.strides = one.strides.empty() ? nullptr : one.strides.data();
            operands.push_back(raw);
        }
        std::vector<tw_scalar> scalars;
        for (const auto &[name, value] : scalars_) {
            scalars.push_back({name.c_str(), value});
        }
        std::vector<tw_extent> extents;
        for (const auto &[name, value] : extents_) {
            extents.push_back({name.c_str(), value});
        }
        std::vector<const char *> promises;
        for (const std::string &words : promises_) {
            promises.push_back(words.c_str());
        }
        tw_problem raw{};
        raw.struct_size = sizeof raw;
        raw.operands = operands.data();
        raw.operand_count = operands.size();
        raw.scalars = scalars.data();
        raw.scalar_count = scalars.size();
        raw.extents = extents.data();
        raw.extent_count = extents.size();
        raw.promises = promises.data();
        raw.promise_count = promises.size();
        return call(const_cast<const tw_problem *>(&raw));
    }

private:
    struct Operand {
        std::string name;
        std::vector<std::int64_t> extents, strides;
        tw_operand raw;
    };

    Device device_;
    std::vector<Operand> operands_;
    std::vector<std::pair<std::string, double>> scalars_;
    std::vector<std::pair<std::string, std::int64_t>> extents_;
    std::vector<std::string> promises_;
};

// A handle that is freed once.
template <class Object, tw_status (*Free)(Object *)>
class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(Object *object) noexcept : object_(object) {}
    Handle(Handle &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            Free(object_);
            object_ = std::exchange(other.object_, nullptr);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { Free(object_); }

    // For calls of tilewright.h; null after it was moved from.
    Object *get() const noexcept { return object_; }

private:
    Object *object_ = nullptr;
};

// A kernel on a problem: checked once, launched as often as one likes.
class Launch {
public:
    explicit Launch(tw_launch *launch) noexcept : handle_(launch) {}

    // On a GPU enqueues on a stream, on the emulator runs to the end. Without scratch memory of the
    // caller's the library keeps some for the stream.
    void enqueue(void *stream = nullptr, void *workspace = nullptr,
                 std::uint64_t workspace_bytes = 0) const {
        Error::check(tw_enqueue(handle_.get(), stream, workspace, workspace_bytes));
    }

    // Scratch memory that it wants.
    std::uint64_t workspace_bytes() const { return info().workspace_bytes; }
    // What its address is a multiple of.
    std::uint64_t workspace_alignment() const { return info().workspace_alignment; }
    // The kernel's index.
    std::size_t kernel() const { return info().kernel; }
    // Extents, strides and scalars as one line.
    std::string problem() const { return info().problem; }

    tw_launch *get() const noexcept { return handle_.get(); }

private:
    tw_launch_info info() const {
        tw_launch_info info{};
        info.struct_size = sizeof info;
        Error::check(tw_launch_describe(handle_.get(), &info));
        return info;
    }

    Handle<tw_launch, tw_launch_free> handle_;
};

// An operand of a kernel; texts that it does not have are empty.
struct OperandInfo {
    std::string name, role, dtype, layout, over, packed;
    DType type;
    std::int32_t rank;
    std::uint32_t alignment;
    bool is_written;
};

// What must hold before a launch; `promise` is empty where the library checks it.
struct Assumption {
    std::string text, promise;
};

// A kernel of a bundle.
struct Kernel {
    std::size_t index;
    std::string id, spec, word, formula, function;
    std::vector<OperandInfo> operands;
    // Name and type of each scalar.
    std::vector<std::pair<std::string, std::string>> scalars;
    std::vector<std::string> extents;
    std::vector<Assumption> assumptions;
    std::uint32_t min_sm;
    bool exact_sm;
};

// A function that kernels of a bundle compute.
struct Function {
    std::string hash, formula;
    std::size_t first_kernel, kernel_count;
};

// A kernel chosen for a problem, and how: one of TW_SOURCE_*.
struct Selection {
    std::size_t kernel;
    std::int32_t source;
    float distance;
};

// How a bundle is opened.
struct Options {
    std::int32_t backend = TW_BACKEND_CUDA;
    std::int32_t device_ordinal = 0;
    std::uint32_t emulator_sms = 0;
    std::uint32_t emulator_sm = 0;
    // Whether the code of all kernels is loaded at once: no launch waits for a compiler.
    bool eager = false;
    // Whether the bundle's machine code alone is run: nothing is compiled.
    bool cubin_only = false;
    // A folder that keeps what the driver makes of PTX; empty for none.
    std::string ptx_cache;
    // Bytes that it may hold; 0 for a gibibyte.
    std::uint64_t ptx_cache_bytes = 0;
    // Public keys as PEM, of which one must have signed the bundle; empty asks for none.
    std::string public_keys;
    // Whether a fault on the emulator takes the device with it, as on a GPU.
    bool emulator_sticky_faults = false;

    static Options cuda(std::int32_t ordinal = 0) {
        Options options;
        options.device_ordinal = ordinal;
        return options;
    }
    static Options emulator(std::uint32_t sms = 0, std::uint32_t sm = 0) {
        Options options;
        options.backend = TW_BACKEND_EMULATOR;
        options.emulator_sms = sms;
        options.emulator_sm = sm;
        return options;
    }
};

// A number that a runtime has counted; texts that it does not have are empty.
struct Counter {
    std::string name, kernel, reason;
    std::uint64_t value;
};

// A file of a bundle in memory.
struct File {
    std::string path;
    View<const std::uint8_t> content;
};

// A bundle open on a device.
class Runtime {
public:
    // Opens the bundle in a folder.
    static Runtime open(const std::string &path, const Options &options = {}) {
        const tw_open_options raw = as_c(options);
        tw_runtime *runtime = nullptr;
        Error::check(tw_open(path.c_str(), &raw, &runtime));
        return Runtime(runtime);
    }

    // Opens a bundle whose files are in memory.
    static Runtime open(const std::vector<File> &files, const Options &options = {}) {
        const tw_open_options raw = as_c(options);
        std::vector<tw_file> all;
        for (const File &file : files) {
            all.push_back({file.path.c_str(), file.content.data(), file.content.size()});
        }
        tw_runtime *runtime = nullptr;
        Error::check(tw_open_files(all.data(), all.size(), &raw, &runtime));
        return Runtime(runtime);
    }

    explicit Runtime(tw_runtime *runtime) noexcept : handle_(runtime) {}

    // The device's name: "NVIDIA H200", "emulator".
    std::string device_name() const {
        tw_device_info info{};
        info.struct_size = sizeof info;
        Error::check(tw_device(handle_.get(), &info));
        return info.name;
    }

    std::size_t kernel_count() const {
        std::size_t count = 0;
        Error::check(tw_kernel_count(handle_.get(), &count));
        return count;
    }

    // A kernel with what it takes.
    Kernel kernel(std::size_t index) const {
        tw_kernel_info info{};
        info.struct_size = sizeof info;
        Error::check(tw_kernel(handle_.get(), index, &info));
        Kernel kernel{index, info.id, info.spec, info.word, info.formula, info.function,
                      {}, {}, {}, {}, info.min_sm, info.exact_sm != 0};
        for (std::size_t at = 0; at < info.operand_count; at++) {
            kernel.operands.push_back(operand(index, at));
        }
        for (std::size_t at = 0; at < info.scalar_count; at++) {
            tw_scalar_info scalar{};
            scalar.struct_size = sizeof scalar;
            Error::check(tw_kernel_scalar(handle_.get(), index, at, &scalar));
            kernel.scalars.emplace_back(scalar.name, scalar.dtype);
        }
        for (std::size_t at = 0; at < info.extent_count; at++) {
            const char *name = nullptr;
            Error::check(tw_kernel_extent(handle_.get(), index, at, &name));
            kernel.extents.emplace_back(name);
        }
        for (std::size_t at = 0; at < info.assumption_count; at++) {
            tw_assumption_info one{};
            one.struct_size = sizeof one;
            Error::check(tw_kernel_assumption(handle_.get(), index, at, &one));
            kernel.assumptions.push_back({one.text, one.promise ? one.promise : ""});
        }
        return kernel;
    }

    // The kernels, ordered by id.
    std::vector<Kernel> kernels() const {
        std::vector<Kernel> all;
        for (std::size_t at = 0; at < kernel_count(); at++) {
            all.push_back(kernel(at));
        }
        return all;
    }

    std::vector<Function> functions() const {
        std::size_t count = 0;
        Error::check(tw_function_count(handle_.get(), &count));
        std::vector<Function> all;
        for (std::size_t at = 0; at < count; at++) {
            tw_function_info info{};
            info.struct_size = sizeof info;
            Error::check(tw_function(handle_.get(), at, &info));
            all.push_back({info.hash, info.formula, info.first_kernel, info.kernel_count});
        }
        return all;
    }

    // The index of the kernel of that id, else of the first of that spec, else of the first whose id
    // begins so.
    std::size_t find(const std::string &name) const {
        std::size_t found = 0;
        Error::check(tw_find(handle_.get(), name.c_str(), &found));
        return found;
    }

    // Chooses a kernel by a spec's word, a spec's name or a function's hash, for a problem.
    Selection select(const std::string &word, const Problem &problem) const {
        tw_selection selection{};
        selection.struct_size = sizeof selection;
        Error::check(problem.as_c([&](const tw_problem *raw) {
            return tw_select(handle_.get(), word.c_str(), raw, &selection);
        }));
        return {selection.kernel, selection.source, selection.distance};
    }

    // What select() chooses and by which rule, and why each other kernel of the function is not
    // chosen, as lines for a reader.
    std::string explain(const std::string &word, const Problem &problem) const {
        return problem.as_c([&](const tw_problem *raw) {
            std::size_t length = 0;
            Error::check(tw_explain(handle_.get(), word.c_str(), raw, nullptr, 0, &length));
            std::string text(length + 1, '\0');
            Error::check(
                tw_explain(handle_.get(), word.c_str(), raw, text.data(), text.size(), &length));
            text.resize(length < text.size() ? length : text.size() - 1);
            return text;
        });
    }

    // A packed operand in the order that its kernels take, of elements without gaps, last axis
    // innermost; the problem has the extents. What comes back is what a launch is given.
    std::vector<unsigned char> pack(std::size_t kernel, const std::string &operand,
                                    const Problem &problem, const void *elements,
                                    std::size_t bytes) const {
        return problem.as_c([&](const tw_problem *raw) {
            std::size_t needed = 0;
            Error::check(tw_pack(handle_.get(), kernel, operand.c_str(), raw, nullptr, 0, nullptr,
                                 0, &needed));
            std::vector<unsigned char> packed(needed);
            Error::check(tw_pack(handle_.get(), kernel, operand.c_str(), raw, elements, bytes,
                                 packed.data(), packed.size(), nullptr));
            return packed;
        });
    }

    // Checks a kernel on a problem once.
    Launch prepare(std::size_t kernel, const Problem &problem) const {
        tw_launch *launch = nullptr;
        Error::check(problem.as_c([&](const tw_problem *raw) {
            return tw_prepare(handle_.get(), kernel, raw, &launch);
        }));
        return Launch(launch);
    }

    // Chooses and prepares.
    Launch prepare(const std::string &word, const Problem &problem) const {
        return prepare(select(word, problem).kernel, problem);
    }

    // What it has counted, as it is now: names as in tw_counter_info.
    std::vector<Counter> counters() const {
        tw_counters *raw = nullptr;
        Error::check(tw_counters_read(handle_.get(), &raw));
        const Handle<tw_counters, tw_counters_free> owned(raw);
        std::size_t count = 0;
        Error::check(tw_counter_count(raw, &count));
        std::vector<Counter> all;
        for (std::size_t at = 0; at < count; at++) {
            tw_counter_info info{};
            info.struct_size = sizeof info;
            Error::check(tw_counter(raw, at, &info));
            all.push_back({info.name, info.kernel ? info.kernel : "",
                           info.reason ? info.reason : "", info.value});
        }
        return all;
    }

    // Whether a kernel has faulted and taken the device with it: on a GPU end the process and start
    // it anew, on the emulator open the bundle again.
    bool is_lost() const {
        std::int32_t lost = 0;
        Error::check(tw_is_lost(handle_.get(), &lost));
        return lost != 0;
    }

    tw_runtime *get() const noexcept { return handle_.get(); }

private:
    static tw_open_options as_c(const Options &options) {
        tw_open_options raw{};
        raw.struct_size = sizeof raw;
        raw.backend = options.backend;
        raw.device_ordinal = options.device_ordinal;
        raw.emulator_sms = options.emulator_sms;
        raw.emulator_sm = options.emulator_sm;
        raw.load = options.eager ? TW_LOAD_EAGER : TW_LOAD_LAZY;
        raw.cubin_only = options.cubin_only;
        raw.ptx_cache = options.ptx_cache.empty() ? nullptr : options.ptx_cache.c_str();
        raw.ptx_cache_bytes = options.ptx_cache_bytes;
        raw.public_keys = options.public_keys.empty() ? nullptr : options.public_keys.c_str();
        raw.emulator_sticky_faults = options.emulator_sticky_faults;
        return raw;
    }

    OperandInfo operand(std::size_t kernel, std::size_t at) const {
        tw_operand_info info{};
        info.struct_size = sizeof info;
        Error::check(tw_kernel_operand(handle_.get(), kernel, at, &info));
        return {info.name, info.role, info.dtype, info.layout, info.over ? info.over : "",
                info.packed ? info.packed : "", {info.dtype_code, info.dtype_bits}, info.rank, info.alignment,
                info.is_written != 0};
    }

    Handle<tw_runtime, tw_close> handle_;
};

} // namespace tilewright

#endif // TILEWRIGHT_HPP
