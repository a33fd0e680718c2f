// Kernels of Tilewright from C: open a bundle, choose a kernel, launch it.
//
//   tw_open, tw_select, tw_prepare, tw_enqueue as often as one likes, tw_launch_free, tw_close
//
// Status. Every call that can fail answers a tw_status, TW_OK (0) or one of TW_ERROR_*, and has done
// nothing but on TW_OK: results are written then alone. Why it failed stays with the thread until
// tw_last_error takes it: a message with a way out, and each reason with the operand, what is needed
// and what is there.
//
// Ownership. tw_open, tw_open_files, tw_prepare, tw_counters_read and tw_last_error give handles,
// which the caller frees by tw_close, tw_launch_free, tw_counters_free and tw_error_free; freeing
// null does nothing. A handle is a number, not an address. One that was freed, one of another kind
// and one that was never given are answered with TW_ERROR_HANDLE. A launch keeps what it needs of
// its runtime, and counters are a copy: all may be freed in any order. The caller frees no other
// memory of the library's.
//
// Lifetimes. Texts in results live as long as the handle they were asked of: those of a runtime
// until tw_close, of a launch until tw_launch_free, of counters until tw_counters_free, of an error
// until tw_error_free. Arguments are read during the call alone; but the memory that operands point
// to is used by every launch that was prepared with them, on a GPU until the stream has come past
// it.
//
// Threads. Every call may be made from any thread at any time, also on the same handle. A handle
// that one thread frees while another uses it stays until that call ends; its texts do not. Launches
// that write the same memory must not run at once. A launch may be enqueued on several streams;
// scratch memory of the library's own is one piece for each kernel and stream.
//
// Growth. Structs begin with their size, to be set to sizeof by the caller, and grow at their ends:
// set what is not used to 0. Those that stand in arrays have no size and never grow: tw_file,
// tw_operand, whose reserved fields are 0, tw_scalar and tw_extent. Counters grow by name.
// tw_abi_version tells whether a library has what the header has.
//
// What is checked. Null, freed and wrong handles, sizes of structs, text, codes, ranks, extents,
// strides, alignment, overlap, sizes of memory, and every assumption of the kernel. What cannot be
// known is the caller's promise: that pointers which are not null point to what their types say, and
// that operands have the memory that their extents and strides reach.

#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

// The version of the interface that this header describes. A library of this version or a later
// one has every function of the header; structs only grow at their ends.
#define TW_ABI_VERSION 2

// Signed integers of 4 to 64 bits. Codes below 128 are DLPack's.
#define TW_DTYPE_INT 0

// Unsigned integers of 4 to 64 bits.
#define TW_DTYPE_UINT 1

// IEEE numbers of 16, 32 and 64 bits.
#define TW_DTYPE_FLOAT 2

// bfloat16.
#define TW_DTYPE_BFLOAT 4

// Booleans of 8 bits, which kernels take as `u8`.
#define TW_DTYPE_BOOL 6

// e4m3 without infinities, 8 bits.
#define TW_DTYPE_FLOAT8_E4M3FN 10

// e5m2, 8 bits.
#define TW_DTYPE_FLOAT8_E5M2 12

// Powers of two, 8 bits: scales of blocks.
#define TW_DTYPE_FLOAT8_E8M0FNU 14

// e2m1, 4 bits, two to a byte, the first in the low half.
#define TW_DTYPE_FLOAT4_E2M1FN 17

// Numbers of 32 bits that are used as tf32.
#define TW_DTYPE_TFLOAT32 224

// Bits that are moved and not computed with: 8 to 128.
#define TW_DTYPE_BITS 225

// Most operands, scalars, extents or promises of a problem.
#define TW_MAX_NAMED 64

// Most bytes of a name; promises may be 16 times as long.
#define TW_MAX_NAME_BYTES 255

// Memory of the host. Codes of devices are DLPack's.
#define TW_DEVICE_CPU 1

// Memory of a GPU.
#define TW_DEVICE_CUDA 2

// Memory of the host that CUDA has pinned.
#define TW_DEVICE_CUDA_HOST 3

// Memory that CUDA moves between host and GPU.
#define TW_DEVICE_CUDA_MANAGED 13

// A GPU.
#define TW_BACKEND_CUDA 1

// The emulator: kernels run on the host, on memory of the host, before the call returns.
#define TW_BACKEND_EMULATOR 2

// Each kernel's code is loaded when it is first used.
#define TW_LOAD_LAZY 0

// The code of all kernels that the device runs is loaded when the bundle is opened: no launch
// waits for a compiler.
#define TW_LOAD_EAGER 1

// This very problem was measured.
#define TW_SOURCE_MEASURED 1

// A neighbour was measured, and the problem lies among the measured ones.
#define TW_SOURCE_INTERPOLATED 2

// A neighbour was measured, and the problem lies outside of the measured ones.
#define TW_SOURCE_EXTRAPOLATED 3

// Nothing was measured: the first kernel that fits, the most special first.
#define TW_SOURCE_UNTUNED 4

// The counters of a runtime as they were at one moment. Freed by `tw_counters_free`.
typedef struct tw_counters tw_counters;

// Why a call did nothing. Freed by `tw_error_free`.
typedef struct tw_error tw_error;

// A kernel on a problem, ready to be launched. Freed by `tw_launch_free`.
typedef struct tw_launch tw_launch;

// A bundle open on a device. Freed by `tw_close`.
typedef struct tw_runtime tw_runtime;

// What a call answers: `TW_OK`, or why it did nothing.
typedef int32_t tw_status;

// One reason of an error. Texts live as long as the error; those that the reason does not have are
// null.
typedef struct tw_reason {
    // `sizeof(tw_reason)`, set by the caller.
    size_t struct_size;
    // A word for counting: `alignment`, `dtype`, `null`.
    const char *kind;
    // The whole reason as a sentence.
    const char *text;
    // The operand, extent, scalar or argument at fault.
    const char *operand;
    // What is needed.
    const char *needed;
    // What is there.
    const char *has;
} tw_reason;

// How a bundle is opened. Set everything to 0 and then `struct_size` and what is wanted: what is
// added later does nothing at 0. Texts are read during the call alone.
typedef struct tw_open_options {
    // `sizeof(tw_open_options)`.
    size_t struct_size;
    // `TW_BACKEND_*`; 0 is a GPU.
    int32_t backend;
    // Which GPU, opened on its primary context.
    int32_t device_ordinal;
    // Multiprocessors that the emulator pretends to have; 0 for as many as it likes.
    uint32_t emulator_sms;
    // The compute capability that the emulator pretends to have, 90 for 9.0; 0 for every one.
    uint32_t emulator_sm;
    // `TW_LOAD_*`: when code is loaded.
    int32_t load;
    // Not 0 to run the machine code of the bundle alone: kernels without any for the GPU are
    // refused, and nothing is compiled. The emulator has no use for it.
    uint32_t cubin_only;
    // A folder, made if it is not there, that keeps what the driver makes of PTX for the next
    // start. What it holds is run: one that others may write to is refused. Null for none.
    const char *ptx_cache;
    // Bytes that the folder may hold; 0 for a gibibyte.
    uint64_t ptx_cache_bytes;
    // Public keys as PEM, one behind the other: the bundle is refused unless one of them signed
    // it. Null opens bundles without a signature too.
    const char *public_keys;
    // Not 0 where a fault on the emulator takes the device with it, as on a GPU: see `tw_is_lost`.
    uint32_t emulator_sticky_faults;
    // 0.
    uint32_t reserved;
} tw_open_options;

// A file of a bundle in memory.
typedef struct tw_file {
    // Path in the bundle: `manifest.json`.
    const char *path;
    // Its content.
    const uint8_t *data;
    // Bytes of it.
    size_t bytes;
} tw_file;

// What a device says of itself. Texts live as long as the runtime.
typedef struct tw_device_info {
    // `sizeof(tw_device_info)`, set by the caller.
    size_t struct_size;
    // `NVIDIA H200`, `emulator`.
    const char *name;
    // `TW_BACKEND_*`.
    int32_t backend;
    // The GPU's ordinal; -1 on the emulator.
    int32_t device_ordinal;
    // Compute capability, 90 for 9.0; 0 on an emulator that takes every one.
    uint32_t sm;
    // Streaming multiprocessors.
    uint32_t sms;
} tw_device_info;

// A kernel of a bundle. Texts live as long as the runtime.
typedef struct tw_kernel_info {
    // `sizeof(tw_kernel_info)`, set by the caller.
    size_t struct_size;
    // Its name, unique in the bundle.
    const char *id;
    // The part of the id before `@`.
    const char *spec;
    // The spec's word for it: `gemm`.
    const char *word;
    // What it computes: `d[m,n] = sum[k] a[m,k] * b[n,k]`.
    const char *formula;
    // SHA-256 of the function: kernels of the same one may stand for one another.
    const char *function;
    // Operands: see `tw_kernel_operand`.
    size_t operand_count;
    // Scalars: see `tw_kernel_scalar`.
    size_t scalar_count;
    // Extents: see `tw_kernel_extent`.
    size_t extent_count;
    // Assumptions: see `tw_kernel_assumption`.
    size_t assumption_count;
    // The least compute capability, 90 for 9.0.
    uint32_t min_sm;
    // Not 0 when no other will do.
    uint32_t exact_sm;
} tw_kernel_info;

// An operand of a kernel. Texts live as long as the runtime.
typedef struct tw_operand_info {
    // `sizeof(tw_operand_info)`, set by the caller.
    size_t struct_size;
    // Name in the formula.
    const char *name;
    // `in`, `out` or `inout`.
    const char *role;
    // Element type in the specs' words: `bf16`.
    const char *dtype;
    // Shape and strides in elements: `(m,k):(lda,1)`.
    const char *layout;
    // The input whose place it may take; null where there is none.
    const char *over;
    // Its order in memory as CuTe prints it, where it is packed: it is then given as one axis of
    // elements in that order. Null where it is not.
    const char *packed;
    // `TW_DTYPE_*`.
    uint8_t dtype_code;
    // Bits of an element.
    uint8_t dtype_bits;
    // Always 1.
    uint16_t dtype_lanes;
    // Number of axes.
    int32_t rank;
    // What the first element's address is a multiple of, in bytes.
    uint32_t alignment;
    // Not 0 when the kernel writes it.
    uint32_t is_written;
} tw_operand_info;

// A scalar of a kernel. Texts live as long as the runtime.
typedef struct tw_scalar_info {
    // `sizeof(tw_scalar_info)`, set by the caller.
    size_t struct_size;
    // Name in the formula.
    const char *name;
    // Its type in the specs' words: `f32`.
    const char *dtype;
} tw_scalar_info;

// What must hold before a launch. Texts live as long as the runtime.
typedef struct tw_assumption_info {
    // `sizeof(tw_assumption_info)`, set by the caller.
    size_t struct_size;
    // The assumption as a line.
    const char *text;
    // What the caller is to promise, in the words to do it in; null where it is checked instead.
    const char *promise;
} tw_assumption_info;

// A function that kernels of a bundle compute. Texts live as long as the runtime.
typedef struct tw_function_info {
    // `sizeof(tw_function_info)`, set by the caller.
    size_t struct_size;
    // Its SHA-256.
    const char *hash;
    // What is computed.
    const char *formula;
    // The first of its kernels.
    size_t first_kernel;
    // How many kernels compute it.
    size_t kernel_count;
} tw_function_info;

// An operand: a tensor as DLPack describes one, under its name in the kernel.
typedef struct tw_operand {
    // Name in the formula: `a`.
    const char *name;
    // Its memory. That of an operand that is only read is never written.
    void *data;
    // Bytes from `data` to the first element.
    uint64_t byte_offset;
    // Bytes of the memory from `data` on, to be checked; 0 where they are not known, and then as
    // many are taken to be there as the extents and strides reach.
    uint64_t bytes;
    // `rank` extents, first axis first, each 0 or more.
    const int64_t *extents;
    // `rank` strides in elements; null for packed elements, last axis innermost.
    const int64_t *strides;
    // `TW_DTYPE_*`.
    uint8_t dtype_code;
    // Bits of an element.
    uint8_t dtype_bits;
    // Always 1.
    uint16_t dtype_lanes;
    // Number of axes.
    int32_t rank;
    // `TW_DEVICE_*`: whose memory it is.
    int32_t device_type;
    // The GPU's ordinal; 0 for the host.
    int32_t device_id;
    // Always 0.
    uint64_t reserved[2];
} tw_operand;

// A number that a kernel takes by value.
typedef struct tw_scalar {
    // Name in the formula: `alpha`.
    const char *name;
    // Its value, rounded to the scalar's type.
    double value;
} tw_scalar;

// An extent that no operand says.
typedef struct tw_extent {
    // Name in the formula: `k`.
    const char *name;
    // Its value, 0 or more.
    int64_t value;
} tw_extent;

// A problem. Arrays and names are read during the call alone; operands' memory is used until the
// launches made with them are done.
typedef struct tw_problem {
    // `sizeof(tw_problem)`.
    size_t struct_size;
    // The operands.
    const struct tw_operand *operands;
    // How many there are.
    size_t operand_count;
    // The scalars.
    const struct tw_scalar *scalars;
    // How many there are.
    size_t scalar_count;
    // Extents that no operand says.
    const struct tw_extent *extents;
    // How many there are.
    size_t extent_count;
    // What the caller confirms, in the words of `tw_assumption_info`.
    const char *const *promises;
    // How many there are.
    size_t promise_count;
} tw_problem;

// A kernel chosen for a problem.
typedef struct tw_selection {
    // `sizeof(tw_selection)`, set by the caller.
    size_t struct_size;
    // The kernel's index.
    size_t kernel;
    // `TW_SOURCE_*`: how it was found.
    int32_t source;
    // How far the measured problem is: the length of the difference of the extents' binary
    // logarithms.
    float distance;
} tw_selection;

// What a launch is.
typedef struct tw_launch_info {
    // `sizeof(tw_launch_info)`, set by the caller.
    size_t struct_size;
    // The kernel's index.
    size_t kernel;
    // Extents, strides and scalars as one line, which lives as long as the launch.
    const char *problem;
    // Scratch memory that it wants; 0 where it takes none.
    uint64_t workspace_bytes;
    // What the scratch memory's address is a multiple of.
    uint64_t workspace_alignment;
} tw_launch_info;

// A number with its name. Texts live as long as the counters that it is of.
typedef struct tw_counter_info {
    // `sizeof(tw_counter_info)`, set by the caller.
    size_t struct_size;
    // What is counted. Of each kernel that was loaded: `launches`, `refused` (launches, before
    // anything ran), `loads`, `loads_from_cache`, `loads_from_bundle`, `load_ns`,
    // `first_launch_ns`, `scratch_bytes`. For each kind of reason: `skipped`, how often kernels
    // were passed over. Of the runtime: `fallbacks`, how often another kernel took over from one
    // that a tuning table names or whose code was refused; `unfit`, how often no kernel took what
    // was asked for; `is_lost`, 0 or 1. Later libraries have more: pass by what you do not
    // know.
    const char *name;
    // Id of the kernel that it is of; null where it is of none.
    const char *kernel;
    // Kind of reason that it is of, as in `tw_reason`; null where it is of none.
    const char *reason;
    // How many, how often, or how long.
    uint64_t value;
} tw_counter_info;

// All is well.
#define TW_OK 0

// A pointer that is needed is null.
#define TW_ERROR_NULL 1

// A handle was freed, is of another kind, or never came from this library.
#define TW_ERROR_HANDLE 2

// The `struct_size` of a struct is none that this library knows.
#define TW_ERROR_STRUCT 3

// A value makes no sense: text that is no UTF-8, an unknown code, too many operands, a negative
// extent. Each has a reason.
#define TW_ERROR_ARGUMENT 4

// A bundle was refused: damaged, changed, or of another format.
#define TW_ERROR_BUNDLE 5

// No driver, no such device, or a failure of either.
#define TW_ERROR_DEVICE 6

// Nothing has that name or index.
#define TW_ERROR_UNKNOWN 7

// The kernel cannot run the problem; nothing was launched. Each reason is told.
#define TW_ERROR_REFUSED 8

// A word means several functions that take these operands.
#define TW_ERROR_AMBIGUOUS 9

// Not enough memory, on the host or on the device.
#define TW_ERROR_MEMORY 10

// The emulator found faults of a kernel; nothing was written.
#define TW_ERROR_FAULT 11

// An earlier call on the handle failed inside of the library; it can only be freed.
#define TW_ERROR_POISONED 12

// The library itself failed: a bug. The handle of the call is poisoned.
#define TW_ERROR_INTERNAL 13

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The name of a status: `refused`. Lives as long as the library; of a number that is no status
// it is `unknown status`.
const char *tw_status_name(tw_status status);

// The version of the interface that the library has: at least `TW_ABI_VERSION` is needed.
uint32_t tw_abi_version(void);

// The version of the library: `0.1.0`. Lives as long as the library.
const char *tw_version(void);

// Takes the last failure of a call on this thread: free it with `tw_error_free`. Null when there
// was none since the last time. A call that succeeds leaves it as it is.
struct tw_error *tw_last_error(void);

// The status that the failed call answered; `TW_ERROR_HANDLE` when `error` is none.
tw_status tw_error_status(const struct tw_error *error);

// The whole error as text, which lives as long as the error; never null.
const char *tw_error_message(const struct tw_error *error);

// How many reasons the error has: none of most, at least one of `TW_ERROR_ARGUMENT` and
// `TW_ERROR_REFUSED`.
size_t tw_error_reason_count(const struct tw_error *error);

// One reason of an error.
tw_status tw_error_reason(const struct tw_error *error, size_t index, struct tw_reason *reason);

// Frees an error and its texts; null is none.
tw_status tw_error_free(struct tw_error *error);

// Opens the bundle in a folder, whose path is UTF-8. Options may be null: the first GPU.
tw_status tw_open(const char *path,
                  const struct tw_open_options *options,
                  struct tw_runtime **runtime);

// Opens a bundle whose files are in memory, which is not needed afterwards.
tw_status tw_open_files(const struct tw_file *files,
                        size_t file_count,
                        const struct tw_open_options *options,
                        struct tw_runtime **runtime);

// Frees a runtime and its texts; null is none. Launches made with it keep what they need.
tw_status tw_close(struct tw_runtime *runtime);

// What the runtime's device says of itself.
tw_status tw_device(const struct tw_runtime *runtime, struct tw_device_info *info);

// How many kernels a bundle has. Their indices count from 0, ordered by id.
tw_status tw_kernel_count(const struct tw_runtime *runtime, size_t *count);

// A kernel.
tw_status tw_kernel(const struct tw_runtime *runtime, size_t kernel, struct tw_kernel_info *info);

// An operand of a kernel, counted from 0 in the kernel's order.
tw_status tw_kernel_operand(const struct tw_runtime *runtime,
                            size_t kernel,
                            size_t operand,
                            struct tw_operand_info *info);

// A scalar of a kernel, counted from 0.
tw_status tw_kernel_scalar(const struct tw_runtime *runtime,
                           size_t kernel,
                           size_t scalar,
                           struct tw_scalar_info *info);

// The name of an extent of a kernel, counted from 0. Those that stand alone in the layout of an
// operand follow from it and need not be given.
tw_status tw_kernel_extent(const struct tw_runtime *runtime,
                           size_t kernel,
                           size_t extent,
                           const char **name);

// An assumption of a kernel, counted from 0.
tw_status tw_kernel_assumption(const struct tw_runtime *runtime,
                               size_t kernel,
                               size_t assumption,
                               struct tw_assumption_info *info);

// How many functions the kernels of a bundle compute.
tw_status tw_function_count(const struct tw_runtime *runtime, size_t *count);

// A function, counted from 0.
tw_status tw_function(const struct tw_runtime *runtime,
                      size_t function,
                      struct tw_function_info *info);

// The kernel of that id, else the first of the spec of that name, else the first whose id begins
// so.
tw_status tw_find(const struct tw_runtime *runtime, const char *name, size_t *kernel);

// Chooses a kernel for a problem. A word is a spec's word (`gemm`), a spec's name, or the
// beginning of a function's hash; where it means several functions, the operands tell which. Of
// the function's kernels the bundle's tuning tables choose, else its order.
tw_status tw_select(const struct tw_runtime *runtime,
                    const char *word,
                    const struct tw_problem *problem,
                    struct tw_selection *selection);

// What `tw_select` would choose and by which rule, the row of a tuning table or the order of the
// bundle, and why each other kernel of the function is not chosen, as text of several lines for a
// reader. Nothing is counted. At most `capacity` bytes are written, a 0 at their end; `length`
// gets the length of the whole text without it, and may be null. The text may be null when
// `capacity` is 0.
tw_status tw_explain(const struct tw_runtime *runtime,
                     const char *word,
                     const struct tw_problem *problem,
                     char *text,
                     size_t capacity,
                     size_t *length);

// Puts a packed operand into the order that its kernel takes it in, and so does every other kernel
// of the same function. `elements` are `bytes` of memory of the host: all elements without gaps,
// last axis innermost, of the extents that the problem gives. What a launch takes is written to
// `packed`, memory of the host of `capacity` bytes; `needed` gets how many it takes, and may be
// null. With a capacity of 0 nothing is read or written but that.
tw_status tw_pack(const struct tw_runtime *runtime,
                  size_t kernel,
                  const char *operand,
                  const struct tw_problem *problem,
                  const void *elements,
                  size_t bytes,
                  void *packed,
                  size_t capacity,
                  size_t *needed);

// Checks a kernel on a problem once, and loads its code: everything that a launch needs is known
// then. The operands' memory must be there from now until the last launch is done.
tw_status tw_prepare(const struct tw_runtime *runtime,
                     size_t kernel,
                     const struct tw_problem *problem,
                     struct tw_launch **launch);

// What a launch is, and how much scratch memory it wants.
tw_status tw_launch_describe(const struct tw_launch *launch, struct tw_launch_info *info);

// Launches: on a GPU enqueues on a stream and returns, on the emulator runs to the end.
//
// `stream` is a `CUstream` or `cudaStream_t` of the device's primary context, null the default
// one. `workspace` is scratch memory of the device, of `workspace_bytes` bytes: zero before its
// first launch, which leaves zero what must be, and no other work's meanwhile. Null is scratch
// memory that the library keeps for the stream. Nothing else is allocated on a GPU. The emulator
// takes no stream but null, and checks scratch memory without using it.
tw_status tw_enqueue(const struct tw_launch *launch,
                     void *stream,
                     void *workspace,
                     uint64_t workspace_bytes);

// Frees a launch; null is none. Wait for the work that it enqueued first: the kernel's code and
// scratch memory go with the last launch of a closed runtime.
tw_status tw_launch_free(struct tw_launch *launch);

// Copies what a runtime has counted since it was opened: numbers that do not change any more, also
// when the runtime is closed.
tw_status tw_counters_read(const struct tw_runtime *runtime, struct tw_counters **counters);

// How many numbers there are.
tw_status tw_counter_count(const struct tw_counters *counters, size_t *count);

// A number, counted from 0.
tw_status tw_counter(const struct tw_counters *counters,
                     size_t counter,
                     struct tw_counter_info *info);

// Frees counters and their texts; null is none.
tw_status tw_counters_free(struct tw_counters *counters);

// Whether a kernel has faulted and taken the device's context with it, which `is_lost` says by 1,
// else 0. Every launch is refused from then on. On a GPU the process has lost it: end it and start
// it anew. On the emulator a bundle that is opened again works.
tw_status tw_is_lost(const struct tw_runtime *runtime, int32_t *is_lost);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TILEWRIGHT_H */
