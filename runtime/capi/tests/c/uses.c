/* The library used rightly beyond a product: what a bundle holds, bundles from memory, scalars,
 * scratch memory, promises, an output in its input's place, strides, reasons, explanations, threads,
 * keys, counters, faults. */
#include <pthread.h>

#include "kit.h"

static void listing(const tw_runtime *runtime) {
    size_t kernels = 0, functions = 0, counted = 0;
    CHECK(tw_kernel_count(runtime, &kernels));
    CHECK(tw_function_count(runtime, &functions));
    REQUIRE(kernels == 7 && functions == 5);
    for (size_t at = 0; at < functions; at++) {
        tw_function_info function = {.struct_size = sizeof function};
        CHECK(tw_function(runtime, at, &function));
        tw_kernel_info first = {.struct_size = sizeof first};
        CHECK(tw_kernel(runtime, function.first_kernel, &first));
        REQUIRE(strcmp(first.function, function.hash) == 0);
        REQUIRE(strcmp(first.formula, function.formula) == 0);
        counted += function.kernel_count;
    }
    REQUIRE(counted == kernels);

    tw_kernel_info info = {.struct_size = sizeof info};
    size_t scaled = kernel(runtime, "scaled_f32");
    CHECK(tw_kernel(runtime, scaled, &info));
    REQUIRE(strcmp(info.id, "scaled_f32@plain-1") == 0 && strcmp(info.word, "scaled") == 0);
    REQUIRE(strcmp(info.formula, "d[m,p] = alpha * s[m,p]") == 0);
    REQUIRE(info.operand_count == 2 && info.scalar_count == 1 && info.extent_count == 1);
    tw_operand_info operand = {.struct_size = sizeof operand};
    CHECK(tw_kernel_operand(runtime, scaled, 1, &operand));
    REQUIRE(strcmp(operand.name, "d") == 0 && strcmp(operand.layout, "(m,p):(ldd,1)") == 0);
    REQUIRE(strcmp(operand.role, "out") == 0 && strcmp(operand.over, "s") == 0);
    REQUIRE(operand.dtype_code == TW_DTYPE_FLOAT && operand.dtype_bits == 32);
    REQUIRE(operand.rank == 2 && operand.alignment == 4 && operand.is_written);
    CHECK(tw_kernel_operand(runtime, scaled, 0, &operand));
    REQUIRE(operand.over == NULL && operand.packed == NULL && !operand.is_written);
    tw_scalar_info scalar = {.struct_size = sizeof scalar};
    CHECK(tw_kernel_scalar(runtime, scaled, 0, &scalar));
    REQUIRE(strcmp(scalar.name, "alpha") == 0 && strcmp(scalar.dtype, "f32") == 0);
    const char *extent = NULL;
    CHECK(tw_kernel_extent(runtime, scaled, 0, &extent));
    REQUIRE(strcmp(extent, "m") == 0);
    tw_device_info device = {.struct_size = sizeof device};
    CHECK(tw_device(runtime, &device));
    REQUIRE(strcmp(device.name, "emulator") == 0 && device.backend == TW_BACKEND_EMULATOR);
    REQUIRE(device.device_ordinal == -1 && device.sms == 4 && device.sm == 0);
}

/* Twice what stands in padded rows, in its own place, with and without scratch memory. */
static void scaling(const tw_runtime *runtime) {
    enum { ROWS = 5, LEAD = 7 };
    float *rows = malloc(sizeof(float) * (LEAD * (ROWS - 1) + 4));
    REQUIRE(rows);
    for (int i = 0; i < LEAD * (ROWS - 1) + 4; i++) {
        rows[i] = (float)i;
    }
    const int64_t extents[2] = {ROWS, 4}, strides[2] = {LEAD, 1};
    tw_operand operands[2] = {tensor("s", rows, 2, extents), tensor("d", rows, 2, extents)};
    operands[0].strides = operands[1].strides = strides;
    tw_problem problem = problem_of(operands, 2);
    tw_scalar alpha = {"alpha", 2};
    problem.scalars = &alpha;
    problem.scalar_count = 1;
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, kernel(runtime, "scaled_f32"), &problem, &launch));
    tw_launch_info info = {.struct_size = sizeof info};
    CHECK(tw_launch_describe(launch, &info));
    REQUIRE(strstr(info.problem, "s:(7,1) d:(7,1) alpha=2"));
    REQUIRE(info.workspace_bytes == ROWS * 4 * 4);
    CHECK(tw_enqueue(launch, NULL, NULL, 0));
    char *scratch = calloc(1, 1024);
    REQUIRE(scratch);
    char *aligned = scratch + (256 - (uintptr_t)scratch % 256) % 256;
    CHECK(tw_enqueue(launch, NULL, aligned, 256));
    free(scratch);
    CHECK(tw_launch_free(launch));
    for (int i = 0; i < LEAD * (ROWS - 1) + 4; i++) {
        REQUIRE(rows[i] == (float)(i % LEAD < 4 ? 4 * i : i));
    }
    free(rows);
}

/* Rows gathered by one table and scattered by another, on the caller's word. */
static void looking_up(const tw_runtime *runtime) {
    float s[6][4], d[3][4];
    int32_t from[3] = {5, 0, 2}, to[3] = {1, 2, 0};
    for (int i = 0; i < 24; i++) {
        s[i / 4][i % 4] = (float)i;
    }
    const int64_t six[2] = {6, 4}, three[2] = {3, 4}, entries[1] = {3};
    tw_operand operands[4] = {tensor("s", s, 2, six), tensor("from", from, 1, entries),
                              tensor("to", to, 1, entries), tensor("d", d, 2, three)};
    operands[1].dtype_code = operands[2].dtype_code = TW_DTYPE_INT;
    tw_problem problem = problem_of(operands, 4);
    size_t index = kernel(runtime, "looked_up_f32");
    tw_assumption_info assumption = {.struct_size = sizeof assumption};
    CHECK(tw_kernel_assumption(runtime, index, 0, &assumption));
    REQUIRE(assumption.promise && strstr(assumption.text, assumption.promise));
    problem.promises = &assumption.promise;
    problem.promise_count = 1;
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, index, &problem, &launch));
    CHECK(tw_enqueue(launch, NULL, NULL, 0));
    CHECK(tw_launch_free(launch));
    for (int row = 0; row < 3; row++) {
        REQUIRE(memcmp(d[to[row]], s[from[row]], sizeof d[0]) == 0);
    }
}

/* Reasons in parts, and the explanation of a choice. */
static void explaining(const tw_runtime *runtime) {
    static float memory[3][64];
    const int64_t square[2] = {8, 8}, other[2] = {8, 7};
    tw_operand operands[3] = {tensor("a", memory[0], 2, square), tensor("b", memory[1], 2, other),
                              tensor("d", memory[2], 2, square)};
    tw_problem problem = problem_of(operands, 3);
    tw_launch *launch = NULL;
    REQUIRE(tw_prepare(runtime, kernel(runtime, "gemm_f32@plain-2"), &problem, &launch) ==
            TW_ERROR_REFUSED);
    tw_error *error = tw_last_error();
    REQUIRE(tw_error_reason_count(error) == 1);
    tw_reason reason = {.struct_size = sizeof reason};
    CHECK(tw_error_reason(error, 0, &reason));
    REQUIRE(strcmp(reason.kind, "shape") == 0 && strcmp(reason.operand, "b") == 0);
    REQUIRE(strcmp(reason.needed, "8") == 0 && strcmp(reason.has, "7") == 0);
    REQUIRE(strstr(tw_error_message(error), reason.text));
    CHECK(tw_error_free(error));

    operands[1].extents = square;
    tw_selection selection = {.struct_size = sizeof selection};
    CHECK(tw_select(runtime, "gemm", &problem, &selection));
    REQUIRE(selection.source == TW_SOURCE_UNTUNED);
    tw_kernel_info info = {.struct_size = sizeof info};
    CHECK(tw_kernel(runtime, selection.kernel, &info));
    size_t length = 0, again = 0;
    CHECK(tw_explain(runtime, "gemm", &problem, NULL, 0, &length));
    char *text = malloc(length + 1);
    REQUIRE(text);
    CHECK(tw_explain(runtime, "gemm", &problem, text, length + 1, &again));
    REQUIRE(again == length && strlen(text) == length);
    REQUIRE(strstr(text, "chosen: ") && strstr(text, info.id));
    REQUIRE(strstr(text, "has no tuning table of the function: the first kernel"));
    CHECK(tw_explain(runtime, "gemm", &problem, text, 5, NULL));
    REQUIRE(strcmp(text, "gemm") == 0);
    free(text);
}

/* A whole file, to be freed. */
static tw_file whole(const char *folder, const char *path) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", folder, path);
    FILE *file = fopen(name, "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    long bytes = ftell(file);
    rewind(file);
    uint8_t *data = malloc((size_t)bytes);
    REQUIRE(data && fread(data, 1, (size_t)bytes, file) == (size_t)bytes);
    fclose(file);
    return (tw_file){path, data, (size_t)bytes};
}

static void from_memory(const char *folder, int argc, char **paths) {
    tw_file files[64];
    memset(files, 0, sizeof files);
    for (int at = 0; at < argc; at++) {
        files[at] = whole(folder, paths[at]);
    }
    tw_open_options options = {.struct_size = sizeof options, .backend = TW_BACKEND_EMULATOR};
    tw_runtime *runtime = NULL;
    CHECK(tw_open_files(files, (size_t)argc, &options, &runtime));
    for (int at = 0; at < argc; at++) {
        free((void *)files[at].data);
    }
    scaling(runtime);
    CHECK(tw_close(runtime));
}

/* Launches of one kernel on memory of each thread's own; what fails stays with its thread. */
static void *thread(void *given) {
    const tw_runtime *runtime = given;
    for (int round = 0; round < 4; round++) {
        scaling(runtime);
        REQUIRE(tw_close((tw_runtime *)&round) == TW_ERROR_HANDLE);
        tw_error *error = tw_last_error();
        REQUIRE(tw_error_status(error) == TW_ERROR_HANDLE && tw_last_error() == NULL);
        CHECK(tw_error_free(error));
    }
    REQUIRE(tw_close((tw_runtime *)&given) == TW_ERROR_HANDLE);
    return NULL;
}

static void threads(tw_runtime *runtime) {
    pthread_t all[4];
    for (int at = 0; at < 4; at++) {
        REQUIRE(pthread_create(&all[at], NULL, thread, runtime) == 0);
    }
    for (int at = 0; at < 4; at++) {
        REQUIRE(pthread_join(all[at], NULL) == 0);
    }
}

/* A launch outlives its runtime's handle. */
static void order(const char *path) {
    tw_runtime *runtime = emulator(path, 0);
    float s[12], d[12] = {0};
    for (int i = 0; i < 12; i++) {
        s[i] = (float)i;
    }
    const int64_t extents[2] = {3, 4};
    tw_operand operands[2] = {tensor("s", s, 2, extents), tensor("d", d, 2, extents)};
    tw_problem problem = problem_of(operands, 2);
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, kernel(runtime, "copy_f32"), &problem, &launch));
    CHECK(tw_close(runtime));
    CHECK(tw_enqueue(launch, NULL, NULL, 0));
    REQUIRE(memcmp(s, d, sizeof s) == 0);
    CHECK(tw_launch_free(launch));
}

/* A packed operand: how much it takes, packing it, launching with it. */
static void packing(const tw_runtime *runtime) {
    const float elements[6] = {1, 2, 3, 4, 5, 6};
    float packed[9] = {0}, copied[6] = {0};
    const size_t rows = kernel(runtime, "copy_packed");
    tw_operand_info info = {.struct_size = sizeof info};
    CHECK(tw_kernel_operand(runtime, rows, 0, &info));
    REQUIRE(strcmp(info.packed, "(1,4):(4,1) by (1,0)") == 0);
    tw_problem extents = problem_of(NULL, 0);
    const tw_extent named[2] = {{"m", 2}, {"n", 3}};
    extents.extents = named;
    extents.extent_count = 2;
    size_t needed = 0;
    CHECK(tw_pack(runtime, rows, "s", &extents, NULL, 0, NULL, 0, &needed));
    REQUIRE(needed == 8 * sizeof(float));
    packed[8] = 7;
    CHECK(tw_pack(runtime, rows, "s", &extents, elements, sizeof elements, packed, needed, NULL));
    const float wanted[9] = {1, 2, 3, 0, 4, 5, 6, 0, 7};
    REQUIRE(memcmp(packed, wanted, sizeof wanted) == 0);
    const int64_t all[1] = {8}, matrix[2] = {2, 3};
    tw_operand operands[2] = {tensor("s", packed, 1, all), tensor("d", copied, 2, matrix)};
    tw_problem problem = problem_of(operands, 2);
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, rows, &problem, &launch));
    CHECK(tw_enqueue(launch, NULL, NULL, 0));
    CHECK(tw_launch_free(launch));
    REQUIRE(memcmp(copied, elements, sizeof elements) == 0);
}

/* A counter of a kernel, or of the runtime where that is null; absent it is 0. */
static uint64_t counted(const tw_counters *counters, const char *name, const char *kernel) {
    size_t count = 0;
    CHECK(tw_counter_count(counters, &count));
    for (size_t at = 0; at < count; at++) {
        tw_counter_info info = {.struct_size = sizeof info};
        CHECK(tw_counter(counters, at, &info));
        REQUIRE(info.name && !(info.kernel && info.reason));
        int of = kernel ? info.kernel && strcmp(info.kernel, kernel) == 0 : !info.kernel;
        if (of && strcmp(info.name, name) == 0) {
            return info.value;
        }
    }
    return 0;
}

/* A signed bundle whose code is loaded at once, counters, and a fault that takes the device. */
static void watching(const char *path) {
    char signed_path[4096], cache[4096];
    snprintf(signed_path, sizeof signed_path, "%s.signed", path);
    snprintf(cache, sizeof cache, "%s.ptx", path);
    char *keys = beside(path, ".pub");
    tw_open_options options = {.struct_size = sizeof options,
                               .backend = TW_BACKEND_EMULATOR,
                               .load = TW_LOAD_EAGER,
                               .cubin_only = 1,
                               .ptx_cache = cache,
                               .ptx_cache_bytes = 1 << 20,
                               .public_keys = keys,
                               .emulator_sticky_faults = 1};
    tw_runtime *runtime = NULL;
    CHECK(tw_open(signed_path, &options, &runtime));
    free(keys);
    tw_counters *before = NULL, *after = NULL;
    CHECK(tw_counters_read(runtime, &before));
    REQUIRE(counted(before, "loads", "copy_f32@plain-1") == 1);
    REQUIRE(counted(before, "launches", "scaled_f32@plain-1") == 0);
    scaling(runtime);
    int32_t is_lost = 7;
    CHECK(tw_is_lost(runtime, &is_lost));
    REQUIRE(is_lost == 0);

    /* Two rows go to one place at once, against the caller's own word. */
    float s[3][4] = {{1}, {2}, {3}}, d[3][4];
    int32_t from[3] = {0, 1, 2}, to[3] = {1, 1, 0};
    const int64_t three[2] = {3, 4}, entries[1] = {3};
    tw_operand operands[4] = {tensor("s", s, 2, three), tensor("from", from, 1, entries),
                              tensor("to", to, 1, entries), tensor("d", d, 2, three)};
    operands[1].dtype_code = operands[2].dtype_code = TW_DTYPE_INT;
    tw_problem problem = problem_of(operands, 4);
    const size_t index = kernel(runtime, "looked_up_f32");
    tw_assumption_info assumption = {.struct_size = sizeof assumption};
    CHECK(tw_kernel_assumption(runtime, index, 0, &assumption));
    problem.promises = &assumption.promise;
    problem.promise_count = 1;
    tw_launch *launch = NULL;
    CHECK(tw_prepare(runtime, index, &problem, &launch));
    REQUIRE(tw_enqueue(launch, NULL, NULL, 0) == TW_ERROR_FAULT);
    CHECK(tw_error_free(tw_last_error()));
    CHECK(tw_is_lost(runtime, &is_lost));
    REQUIRE(is_lost == 1);
    REQUIRE(tw_enqueue(launch, NULL, NULL, 0) == TW_ERROR_DEVICE);
    tw_error *error = tw_last_error();
    REQUIRE(strstr(tw_error_message(error), "context is lost"));
    CHECK(tw_error_free(error));
    CHECK(tw_counters_read(runtime, &after));
    CHECK(tw_launch_free(launch));
    CHECK(tw_close(runtime));
    /* They are a copy: each of its own moment, and of a runtime that is gone. */
    REQUIRE(counted(before, "is_lost", NULL) == 0 && counted(after, "is_lost", NULL) == 1);
    REQUIRE(counted(before, "launches", "scaled_f32@plain-1") == 0);
    REQUIRE(counted(after, "launches", "scaled_f32@plain-1") == 2);
    REQUIRE(counted(after, "scratch_bytes", "copy_f32@plain-1") == 0);
    CHECK(tw_counters_free(before));
    CHECK(tw_counters_free(after));
}

/* Options of a program that was compiled with the first header. */
static void older(const char *path) {
    tw_open_options options;
    memset(&options, 0xff, sizeof options);
    options.struct_size = 24;
    options.backend = TW_BACKEND_EMULATOR;
    options.emulator_sms = options.emulator_sm = 0;
    tw_runtime *runtime = NULL;
    CHECK(tw_open(path, &options, &runtime));
    CHECK(tw_close(runtime));
}

int main(int argc, char **argv) {
    REQUIRE(argc >= 2 && argc < 64);
    REQUIRE(tw_abi_version() >= TW_ABI_VERSION && strlen(tw_version()) >= 5);
    tw_runtime *runtime = emulator(argv[1], 0);
    listing(runtime);
    scaling(runtime);
    looking_up(runtime);
    explaining(runtime);
    packing(runtime);
    threads(runtime);
    CHECK(tw_close(runtime));
    order(argv[1]);
    from_memory(argv[1], argc - 2, argv + 2);
    watching(argv[1]);
    older(argv[1]);
    printf("all is well\n");
    return 0;
}
