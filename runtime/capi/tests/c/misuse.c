/* The library used wrongly in every way that C can without breaking its own rules: each call must
 * answer its status and say what is wrong. */
#include "kit.h"

static int misuses = 0;

/* A misuse: a call, its status, and words of its message. */
#define MISUSE(call, status, words) misuse((call), (status), (words), __LINE__)

static void misuse(tw_status got, tw_status wanted, const char *words, int line) {
    tw_error *error = tw_last_error();
    const char *message = tw_error_message(error);
    if (got != wanted || tw_error_status(error) != wanted || !strstr(message, words)) {
        fprintf(stderr, "misuse.c:%d: %s, wanted %s: %s, wanted %s\n", line,
                tw_status_name(got), tw_status_name(wanted), message, words);
        exit(1);
    }
    REQUIRE(wanted != TW_ERROR_ARGUMENT || tw_error_reason_count(error) > 0);
    CHECK(tw_error_free(error));
    REQUIRE(tw_last_error() == NULL);
    misuses++;
}

static void opening(const char *path) {
    tw_runtime *runtime = NULL;
    tw_open_options options = {.struct_size = sizeof options, .backend = TW_BACKEND_EMULATOR};
    MISUSE(tw_open(NULL, &options, &runtime), TW_ERROR_NULL, "path is null");
    MISUSE(tw_open(path, &options, NULL), TW_ERROR_NULL, "runtime is null");
    MISUSE(tw_open("/nowhere", &options, &runtime), TW_ERROR_BUNDLE, "/nowhere");
    MISUSE(tw_open("a\xff", &options, &runtime), TW_ERROR_ARGUMENT, "byte 1 of path is not UTF-8");
    options.struct_size = 0;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_STRUCT, "sizeof(tw_open_options)");
    options.struct_size = sizeof options;
    options.backend = 7;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "backend is 7");
    options.backend = TW_BACKEND_CUDA;
    options.device_ordinal = -1;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "device_ordinal is -1");
    options.device_ordinal = 99999;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_DEVICE, "");
    struct {
        tw_open_options known;
        uint64_t newer;
    } larger = {{.struct_size = sizeof larger, .backend = TW_BACKEND_EMULATOR}, 1};
    MISUSE(tw_open(path, &larger.known, &runtime), TW_ERROR_STRUCT, "a newer library");
    char *endless = malloc(8192);
    REQUIRE(endless);
    memset(endless, 'x', 8192);
    MISUSE(tw_open(endless, &options, &runtime), TW_ERROR_ARGUMENT, "no end within 4096");
    free(endless);

    options.backend = TW_BACKEND_EMULATOR;
    tw_file file = {.path = "manifest.json", .data = NULL, .bytes = 3};
    MISUSE(tw_open_files(NULL, 1, &options, &runtime), TW_ERROR_NULL, "files is null");
    MISUSE(tw_open_files(&file, 1, &options, &runtime), TW_ERROR_NULL, "files[0].data is null");
    MISUSE(tw_open_files(&file, (size_t)1 << 40, &options, &runtime), TW_ERROR_ARGUMENT,
           "at most 65536");
    file.data = (const uint8_t *)"{ }";
    MISUSE(tw_open_files(&file, 1, &options, &runtime), TW_ERROR_BUNDLE, "manifest.json");
    MISUSE(tw_open_files(NULL, 0, &options, &runtime), TW_ERROR_BUNDLE, "manifest.json");
    file.path = NULL;
    MISUSE(tw_open_files(&file, 1, &options, &runtime), TW_ERROR_NULL, "files[0].path is null");
    REQUIRE(runtime == NULL);
}

/* What options ask for beyond a device. */
static void options(const char *path) {
    tw_runtime *runtime = NULL;
    const tw_open_options plain = {.struct_size = sizeof plain, .backend = TW_BACKEND_EMULATOR};
    tw_open_options options = plain;
    options.load = 9;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "load is 9; TW_LOAD_LAZY (0)");
    options.reserved = 3;
    options.public_keys = "no key";
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT,
           "TW_LOAD_EAGER (1) is allowed; public_keys: ");
    MISUSE(tw_open_files(NULL, 0, &options, &runtime), TW_ERROR_ARGUMENT, "reserved");
    options = plain;
    options.public_keys = "\xff";
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "byte 0 of public_keys");
    char *keys = beside(path, ".pub");
    options.public_keys = keys;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_BUNDLE, "sign");
    char signed_path[4096], file[4096], other[] =
        "-----BEGIN PUBLIC KEY-----\n"
        "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
        "-----END PUBLIC KEY-----\n";
    snprintf(signed_path, sizeof signed_path, "%s.signed", path);
    options.public_keys = other;
    MISUSE(tw_open(signed_path, &options, &runtime), TW_ERROR_BUNDLE, "sign");
    free(keys);
    options = plain;
    options.ptx_cache = "a\xff";
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "byte 1 of ptx_cache");
    snprintf(file, sizeof file, "%s.pub", path);
    options.ptx_cache = file;
    MISUSE(tw_open(path, &options, &runtime), TW_ERROR_ARGUMENT, "cannot be a PTX cache");
    REQUIRE(runtime == NULL);
}

static void counters(const char *path) {
    tw_runtime *runtime = emulator(path, 0);
    tw_counters *counters = NULL;
    MISUSE(tw_counters_read(NULL, &counters), TW_ERROR_NULL, "the handle of a runtime is null");
    MISUSE(tw_counters_read(runtime, NULL), TW_ERROR_NULL, "counters is null");
    MISUSE(tw_is_lost(runtime, NULL), TW_ERROR_NULL, "is_lost is null");
    REQUIRE(counters == NULL);
    CHECK(tw_counters_read(runtime, &counters));
    size_t count = 0;
    int32_t is_lost = 0;
    tw_counter_info info = {.struct_size = sizeof info};
    MISUSE(tw_is_lost((tw_runtime *)counters, &is_lost), TW_ERROR_HANDLE, "handle of counters");
    MISUSE(tw_counter_count((tw_counters *)runtime, &count), TW_ERROR_HANDLE, "of a runtime");
    MISUSE(tw_counter_count(counters, NULL), TW_ERROR_NULL, "count is null");
    CHECK(tw_counter_count(counters, &count));
    MISUSE(tw_counter(counters, count, &info), TW_ERROR_UNKNOWN, "there is no counter 3");
    MISUSE(tw_counter(counters, 0, NULL), TW_ERROR_NULL, "info is null");
    info.struct_size = 39;
    MISUSE(tw_counter(counters, 0, &info), TW_ERROR_STRUCT, "sizeof(tw_counter_info)");
    MISUSE(tw_counters_free((tw_counters *)runtime), TW_ERROR_HANDLE, "that of counters is needed");
    CHECK(tw_close(runtime));
    MISUSE(tw_counters_read(runtime, &counters), TW_ERROR_HANDLE, "it was freed");
    info.struct_size = sizeof info;
    CHECK(tw_counter(counters, 0, &info));
    REQUIRE(strcmp(info.name, "fallbacks") == 0 && !info.kernel && !info.reason);
    CHECK(tw_counters_free(counters));
    CHECK(tw_counters_free(NULL));
    MISUSE(tw_counter(counters, 0, &info), TW_ERROR_HANDLE, "it was freed");
    MISUSE(tw_counters_free(counters), TW_ERROR_HANDLE, "it was freed");
}

static void handles(const char *path) {
    tw_runtime *runtime = emulator(path, 0);
    size_t count = 0;
    MISUSE(tw_kernel_count(NULL, &count), TW_ERROR_NULL, "the handle of a runtime is null");
    MISUSE(tw_kernel_count((const tw_runtime *)&count, &count), TW_ERROR_HANDLE, "is no handle");
    MISUSE(tw_kernel_count((const tw_runtime *)(uintptr_t)-1, &count), TW_ERROR_HANDLE,
           "is no handle");
    const tw_runtime *later = (const tw_runtime *)((uintptr_t)runtime + ((uintptr_t)1 << 24));
    MISUSE(tw_kernel_count(later, &count), TW_ERROR_HANDLE, "that this library gave");
    MISUSE(tw_launch_free((tw_launch *)runtime), TW_ERROR_HANDLE, "the handle of a runtime");
    MISUSE(tw_error_free((tw_error *)runtime), TW_ERROR_HANDLE, "that of an error is needed");
    CHECK(tw_close(runtime));
    MISUSE(tw_kernel_count(runtime, &count), TW_ERROR_HANDLE, "it was freed");
    MISUSE(tw_close(runtime), TW_ERROR_HANDLE, "it was freed");
    tw_runtime *other = emulator(path, 0);
    REQUIRE(other != runtime);
    MISUSE(tw_close(runtime), TW_ERROR_HANDLE, "it was freed");
    CHECK(tw_close(other));
    CHECK(tw_close(NULL));
    CHECK(tw_launch_free(NULL));
    CHECK(tw_error_free(NULL));
    REQUIRE(tw_error_status(NULL) == TW_ERROR_HANDLE);
    REQUIRE(strstr(tw_error_message(NULL), "no error") && tw_error_reason_count(NULL) == 0);
}

static void errors(void) {
    tw_reason reason = {.struct_size = sizeof reason};
    REQUIRE(tw_close((tw_runtime *)&reason) == TW_ERROR_HANDLE);
    tw_error *error = tw_last_error();
    REQUIRE(error && tw_error_reason_count(error) == 0);
    MISUSE(tw_error_reason(error, 0, &reason), TW_ERROR_UNKNOWN, "there are 0, counted from 0");
    CHECK(tw_error_free(error));
    MISUSE(tw_error_reason(error, 0, &reason), TW_ERROR_HANDLE, "it was freed");
    MISUSE(tw_error_free(error), TW_ERROR_HANDLE, "it was freed");
    REQUIRE(tw_error_status(error) == TW_ERROR_HANDLE);
    REQUIRE(strcmp(tw_status_name(12345), "unknown status") == 0);
}

static void listing(const tw_runtime *runtime) {
    size_t count = 0, found = 0;
    CHECK(tw_kernel_count(runtime, &count));
    tw_kernel_info info = {.struct_size = sizeof info};
    tw_operand_info operand = {.struct_size = sizeof operand};
    tw_scalar_info scalar = {.struct_size = sizeof scalar};
    tw_assumption_info assumption = {.struct_size = sizeof assumption};
    tw_function_info function = {.struct_size = sizeof function};
    const char *name = NULL;
    MISUSE(tw_kernel_count(runtime, NULL), TW_ERROR_NULL, "count is null");
    MISUSE(tw_kernel(runtime, count, &info), TW_ERROR_UNKNOWN, "there is no kernel 7");
    MISUSE(tw_kernel(runtime, 0, NULL), TW_ERROR_NULL, "info is null");
    MISUSE(tw_kernel_operand(runtime, 0, 99, &operand), TW_ERROR_UNKNOWN, "no operand 99");
    MISUSE(tw_kernel_scalar(runtime, 0, 0, &scalar), TW_ERROR_UNKNOWN, "no scalar 0");
    MISUSE(tw_kernel_extent(runtime, 0, 99, &name), TW_ERROR_UNKNOWN, "no extent 99");
    MISUSE(tw_kernel_assumption(runtime, 0, 0, &assumption), TW_ERROR_UNKNOWN, "no assumption 0");
    MISUSE(tw_function(runtime, 99, &function), TW_ERROR_UNKNOWN, "no function 99");
    info.struct_size = 8;
    MISUSE(tw_kernel(runtime, 0, &info), TW_ERROR_STRUCT, "sizeof(tw_kernel_info)");
    info.struct_size = (size_t)-1;
    MISUSE(tw_kernel(runtime, 0, &info), TW_ERROR_STRUCT, "sizeof(tw_kernel_info)");
    MISUSE(tw_find(runtime, NULL, &found), TW_ERROR_NULL, "name is null");
    MISUSE(tw_find(runtime, "gemm_f32_tm", &found), TW_ERROR_UNKNOWN, "the nearest is");
    MISUSE(tw_find(runtime, "\xc3(", &found), TW_ERROR_ARGUMENT, "not UTF-8");
    MISUSE(tw_find(runtime, "copy_f32", NULL), TW_ERROR_NULL, "kernel is null");
}

static float memory[3][1024];
static const int64_t square[2] = {8, 8};

static tw_operand operands[4];

/* The operands of a gemm that is right. */
static tw_problem gemm(void) {
    operands[0] = tensor("a", memory[0], 2, square);
    operands[1] = tensor("b", memory[1], 2, square);
    operands[2] = tensor("d", memory[2], 2, square);
    return problem_of(operands, 3);
}

static tw_status prepared(const tw_runtime *runtime, const char *name, const tw_problem *problem) {
    tw_launch *launch = NULL;
    tw_status status = tw_prepare(runtime, kernel(runtime, name), problem, &launch);
    REQUIRE((status == TW_OK) == (launch != NULL));
    CHECK(tw_launch_free(launch));
    return status;
}

/* A gemm of which one statement makes a misuse. */
#define WRONG(statement, status, words)                                          \
    do {                                                                         \
        tw_problem problem = gemm();                                             \
        statement;                                                               \
        MISUSE(prepared(runtime, "gemm_f32@plain-2", &problem), status, words);  \
    } while (0)

static void descriptors(const tw_runtime *runtime) {
    tw_problem right = gemm();
    REQUIRE(prepared(runtime, "gemm_f32@plain-2", &right) == TW_OK);
    MISUSE(prepared(runtime, "gemm_f32@plain-2", NULL), TW_ERROR_NULL, "the problem is null");
    WRONG(problem.struct_size = 71, TW_ERROR_STRUCT, "sizeof(tw_problem)");
    WRONG(problem.operands = NULL, TW_ERROR_NULL, "operands is null, and its count is 3");
    WRONG(problem.operand_count = 65, TW_ERROR_ARGUMENT, "at most 64");
    WRONG(problem.operand_count = (size_t)-1, TW_ERROR_ARGUMENT, "at most 64");
    WRONG(operands[1].name = NULL, TW_ERROR_NULL, "operands[1].name is null");
    WRONG(operands[1].name = "b\xff", TW_ERROR_ARGUMENT, "operands[1].name is not UTF-8");
    WRONG(operands[0].data = NULL, TW_ERROR_NULL, "`a` has null as its data");
    WRONG(operands[0].dtype_code = 99, TW_ERROR_ARGUMENT, "dtype code 99");
    WRONG(operands[0].dtype_bits = 33, TW_ERROR_ARGUMENT, "bits of [16, 32, 64] is needed");
    WRONG(operands[0].dtype_lanes = 4, TW_ERROR_ARGUMENT, "`a` has 4 lanes");
    WRONG(operands[0].rank = -1, TW_ERROR_ARGUMENT, "a rank of -1");
    WRONG(operands[0].rank = 1000000, TW_ERROR_ARGUMENT, "a rank of 1000000");
    WRONG(operands[0].extents = NULL, TW_ERROR_NULL, "the extents of `a` is null");
    WRONG(operands[0].device_type = TW_DEVICE_CUDA, TW_ERROR_ARGUMENT, "memory of the host");
    WRONG(operands[0].device_type = -9, TW_ERROR_ARGUMENT, "device type -9");
    WRONG(operands[0].reserved[1] = 1, TW_ERROR_ARGUMENT, "reserved");
    WRONG(operands[0].byte_offset = (uint64_t)-1, TW_ERROR_ARGUMENT, "beyond the last address");
    WRONG(operands[0].bytes = 8; operands[0].byte_offset = 12, TW_ERROR_ARGUMENT,
          "`a` begins 12 bytes into memory of 8");
    const int64_t negative[2] = {8, -8}, none[2] = {0, 8}, many[2] = {8, 9};
    WRONG(operands[0].extents = negative, TW_ERROR_ARGUMENT, "axis 1 of `a` has -8 elements");
    WRONG(operands[0].extents = none, TW_ERROR_REFUSED, "axis 0 of `d` has 8 elements; m is 0");
    WRONG(operands[0].extents = many, TW_ERROR_REFUSED, "axis 1 of `b` has 8 elements; k is 9");
    const int64_t backwards[2] = {8, -1}, flat[2] = {0, 1};
    const int64_t far[2] = {INT64_MAX / 4, 1}, huge[2] = {INT64_MAX, INT64_MAX};
    WRONG(operands[0].strides = backwards, TW_ERROR_REFUSED, "strides must be positive");
    WRONG(operands[2].strides = flat, TW_ERROR_REFUSED, "strides");
    WRONG(operands[0].strides = far, TW_ERROR_REFUSED, "");
    WRONG(operands[0].extents = huge, TW_ERROR_REFUSED, "");
    tw_scalar scalars[2] = {{"alpha", 1}, {"alpha", 2}};
    WRONG(problem.scalars = scalars; problem.scalar_count = 1, TW_ERROR_REFUSED,
          "the kernel has no scalar `alpha`");
    WRONG(problem.scalars = scalars; problem.scalar_count = 2, TW_ERROR_ARGUMENT, "given twice");
    WRONG(problem.scalar_count = 2, TW_ERROR_NULL, "scalars is null");
    tw_extent extents[2] = {{"k", 9}, {"k", -9}};
    WRONG(problem.extents = extents; problem.extent_count = 1, TW_ERROR_REFUSED,
          "k is 9 as given");
    WRONG(problem.extents = extents; problem.extent_count = 2, TW_ERROR_ARGUMENT,
          "the extent `k` is -9");
    extents[0].name = NULL;
    WRONG(problem.extents = extents; problem.extent_count = 1, TW_ERROR_NULL, "extents[0].name");
    const char *promises[1] = {NULL};
    WRONG(problem.promises = promises; problem.promise_count = 1, TW_ERROR_NULL, "promises[0]");
    WRONG(problem.promise_count = 65, TW_ERROR_ARGUMENT, "promises has 65");
    /* Everything wrong at once. */
    WRONG(operands[0].rank = 77; operands[1].data = NULL; operands[2].dtype_lanes = 0,
          TW_ERROR_ARGUMENT, "`a` has a rank of 77; 0 to ");
}

static void refusals(const char *path, const tw_runtime *runtime) {
    WRONG(operands[2].name = "e", TW_ERROR_REFUSED, "no buffer was given for `d`");
    WRONG(operands[2].name = "a", TW_ERROR_REFUSED, "`a` is given twice");
    WRONG(problem.operand_count = 2, TW_ERROR_REFUSED, "no buffer was given for `d`");
    WRONG(operands[0].dtype_bits = 64, TW_ERROR_REFUSED, "the kernel takes f32");
    WRONG(operands[0].bytes = 255, TW_ERROR_REFUSED, "needs 256 bytes from its offset");
    WRONG(operands[0].byte_offset = 2, TW_ERROR_REFUSED, "a multiple of 4 is needed");
    WRONG(operands[2].data = memory[0] + 3, TW_ERROR_REFUSED, "shares memory with `a`");

    tw_problem problem = gemm();
    const int64_t wide[2] = {9, 1};
    operands[0].strides = wide;
    MISUSE(prepared(runtime, "gemm_f32@picky-1", &problem), TW_ERROR_REFUSED, "lda % 8 == 0");
    operands[0].byte_offset = 4;
    tw_selection selection = {.struct_size = sizeof selection};
    REQUIRE(tw_prepare(runtime, 99, &problem, NULL) == TW_ERROR_NULL);
    tw_launch *launch = NULL;
    MISUSE(tw_prepare(runtime, 99, &problem, &launch), TW_ERROR_UNKNOWN, "no kernel 99");
    MISUSE(tw_select(runtime, "softmax", &problem, &selection), TW_ERROR_UNKNOWN, "copy, gemm");
    MISUSE(tw_select(runtime, "copy", &problem, &selection), TW_ERROR_REFUSED, "it takes s, d");
    MISUSE(tw_select(runtime, NULL, &problem, &selection), TW_ERROR_NULL, "word is null");
    MISUSE(tw_select(runtime, "gemm", &problem, NULL), TW_ERROR_NULL, "selection is null");
    selection.struct_size = 1;
    MISUSE(tw_select(runtime, "gemm", &problem, &selection), TW_ERROR_STRUCT, "tw_selection");
    MISUSE(tw_explain(runtime, "gemm", &problem, NULL, 5, NULL), TW_ERROR_NULL, "text is null");

    tw_problem bare = problem_of(NULL, 0);
    const tw_extent sizes[2] = {{"m", 2}, {"n", 3}};
    bare.extents = sizes;
    bare.extent_count = 2;
    const size_t rows_of = kernel(runtime, "copy_packed");
    char from_there[24] = {0}, packed[32] = {0};
#define PACK(kernel, operand, bytes, room) \
    tw_pack(runtime, kernel, operand, &bare, from_there, bytes, packed, room, NULL)
    MISUSE(PACK(rows_of, "d", 24, 32), TW_ERROR_ARGUMENT, "is not packed");
    MISUSE(PACK(rows_of, "q", 24, 32), TW_ERROR_ARGUMENT, "no operand `q`");
    MISUSE(PACK(rows_of, "s", 20, 32), TW_ERROR_ARGUMENT, "24 bytes; 20 were given");
    MISUSE(PACK(rows_of, "s", 24, 31), TW_ERROR_STRUCT, "room for 31 bytes; `s`");
    size_t needed = 7;
    MISUSE(tw_pack(runtime, rows_of, "s", &bare, from_there, 24, packed, 31, &needed),
           TW_ERROR_STRUCT, "room for 31 bytes; `s`");
    REQUIRE(needed == 7);
    MISUSE(PACK(99, "s", 24, 32), TW_ERROR_UNKNOWN, "no kernel 99");
    MISUSE(PACK(rows_of, NULL, 24, 32), TW_ERROR_NULL, "operand is null");
    MISUSE(tw_pack(runtime, rows_of, "s", &bare, NULL, 24, packed, 32, NULL), TW_ERROR_NULL,
           "elements is null");
    bare.extent_count = 1;
    MISUSE(PACK(rows_of, "s", 24, 32), TW_ERROR_REFUSED, "no extent `n`");

    tw_runtime *ampere = emulator(path, 80);
    problem = gemm();
    MISUSE(prepared(ampere, "gemm_f32_tn", &problem), TW_ERROR_REFUSED, "exactly sm_90");
    CHECK(tw_close(ampere));

    const int64_t rows[2] = {8, 4}, entries[1] = {8};
    int32_t from[8] = {0}, to[8] = {0};
    tw_operand looked_up[4] = {
        tensor("s", memory[0], 2, rows), tensor("from", from, 1, entries),
        tensor("to", to, 1, entries), tensor("d", memory[1], 2, rows)};
    looked_up[1].dtype_code = looked_up[2].dtype_code = TW_DTYPE_INT;
    problem = problem_of(looked_up, 4);
    MISUSE(prepared(runtime, "looked_up_f32", &problem), TW_ERROR_REFUSED, "needs the promise");
    tw_operand scaled[2] = {tensor("s", memory[0], 2, rows), tensor("d", memory[1], 2, rows)};
    problem = problem_of(scaled, 2);
    MISUSE(prepared(runtime, "scaled_f32", &problem), TW_ERROR_REFUSED, "no scalar `alpha`");
}

static void launching(const tw_runtime *runtime) {
    const int64_t rows[2] = {8, 4};
    tw_operand scaled[2] = {tensor("s", memory[0], 2, rows), tensor("d", memory[1], 2, rows)};
    tw_problem problem = problem_of(scaled, 2);
    tw_scalar alpha = {"alpha", 2};
    problem.scalars = &alpha;
    problem.scalar_count = 1;
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, kernel(runtime, "scaled_f32"), &problem, &launch));
    tw_launch_info info = {.struct_size = sizeof info};
    CHECK(tw_launch_describe(launch, &info));
    REQUIRE(info.workspace_bytes == 8 * 4 * 4 && info.workspace_alignment == 256);
    static char scratch[1024];
    char *aligned = scratch + (256 - (uintptr_t)scratch % 256);
    MISUSE(tw_enqueue(launch, aligned, NULL, 0), TW_ERROR_ARGUMENT, "no streams");
    MISUSE(tw_enqueue(launch, NULL, NULL, 128), TW_ERROR_NULL, "workspace is null");
    MISUSE(tw_enqueue(launch, NULL, aligned, 127), TW_ERROR_REFUSED, "128 are needed");
    MISUSE(tw_enqueue(launch, NULL, aligned + 4, 128), TW_ERROR_REFUSED, "a multiple of 256");
    MISUSE(tw_enqueue((tw_launch *)runtime, NULL, NULL, 0), TW_ERROR_HANDLE, "of a launch");
    MISUSE(tw_enqueue(NULL, NULL, NULL, 0), TW_ERROR_NULL, "the handle of a launch is null");
    info.struct_size = 2;
    MISUSE(tw_launch_describe(launch, &info), TW_ERROR_STRUCT, "sizeof(tw_launch_info)");
    CHECK(tw_launch_free(launch));
    MISUSE(tw_enqueue(launch, NULL, NULL, 0), TW_ERROR_HANDLE, "it was freed");
    MISUSE(tw_launch_free(launch), TW_ERROR_HANDLE, "it was freed");
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    opening(argv[1]);
    options(argv[1]);
    counters(argv[1]);
    handles(argv[1]);
    errors();
    tw_runtime *runtime = emulator(argv[1], 0);
    listing(runtime);
    descriptors(runtime);
    refusals(argv[1], runtime);
    launching(runtime);
    CHECK(tw_close(runtime));
    printf("%d misuses, each told\n", misuses);
    return 0;
}
