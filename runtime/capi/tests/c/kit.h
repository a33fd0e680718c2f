/* What the test programs share: descriptors, and expectations that end the program. */
#ifndef KIT_H
#define KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright.h"

/* Ends the program unless a condition holds. */
#define REQUIRE(condition)                                                      \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

/* Ends the program unless a call succeeds. */
#define CHECK(call) check((call), __FILE__, __LINE__)

static inline void check(tw_status status, const char *file, int line) {
    if (status != TW_OK) {
        tw_error *error = tw_last_error();
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, tw_status_name(status),
                tw_error_message(error));
        exit(1);
    }
}

/* A tensor of packed f32 in memory of the host. */
static inline tw_operand tensor(const char *name, void *data, int32_t rank,
                                const int64_t *extents) {
    tw_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.name = name;
    operand.data = data;
    operand.extents = extents;
    operand.dtype_code = TW_DTYPE_FLOAT;
    operand.dtype_bits = 32;
    operand.dtype_lanes = 1;
    operand.rank = rank;
    operand.device_type = TW_DEVICE_CPU;
    return operand;
}

/* A problem of operands alone. */
static inline tw_problem problem_of(const tw_operand *operands, size_t count) {
    tw_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.struct_size = sizeof problem;
    problem.operands = operands;
    problem.operand_count = count;
    return problem;
}

/* A bundle opened on the emulator. */
static inline tw_runtime *emulator(const char *path, uint32_t sm) {
    tw_open_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.backend = TW_BACKEND_EMULATOR;
    options.emulator_sm = sm;
    tw_runtime *runtime = NULL;
    CHECK(tw_open(path, &options, &runtime));
    return runtime;
}

/* The text of a file beside the bundle, to be freed. */
static inline char *beside(const char *path, const char *ending) {
    char name[4096];
    snprintf(name, sizeof name, "%s%s", path, ending);
    FILE *file = fopen(name, "rb");
    char *text = calloc(1, 4096);
    REQUIRE(file && text && fread(text, 1, 4095, file) > 0);
    fclose(file);
    return text;
}

/* The index of a kernel. */
static inline size_t kernel(const tw_runtime *runtime, const char *name) {
    size_t found = 0;
    CHECK(tw_find(runtime, name, &found));
    return found;
}

#endif
