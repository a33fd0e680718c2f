// A driver without GPUs: what its calls share. Every handle knows its device and the life of the
// context that it was made in; one that is used in another context is an error, as with the real
// driver, and one of an earlier life ends the process, as the real driver may.
#pragma once
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { devices = 2, most_params = 16, most_nodes = 16 };
enum {
    ok = 0,
    invalid_value = 1,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    invalid_handle = 400,
    not_found = 500,
};

typedef enum { context_kind = 1, stream_kind, memory_kind, module_kind, function_kind,
               linker_kind, graph_kind } kind_t;

typedef struct {
    kind_t kind;
    int device, life;
} handle_t;

typedef struct {
    handle_t handle;
    int retained, fault, lives;
} context_t;

typedef struct {
    int count;
    uint64_t values[most_params];
    size_t sizes[most_params];
} params_t;

typedef struct function {
    handle_t handle;
    char name[64];
    params_t params;
    int is_code;
} function_t;

typedef struct {
    function_t *function;
    params_t params;
} node_t;

typedef struct {
    handle_t handle;
    int count;
    node_t nodes[most_nodes];
} graph_t;

typedef struct {
    handle_t handle;
    graph_t *capture;
    uint64_t capture_id;
    node_t *last;
} stream_t;

typedef struct {
    handle_t handle;
    char *text;
    int is_code;
} module_t;

typedef struct {
    handle_t handle;
    char *code;
    size_t bytes;
} linker_t;

extern context_t contexts[devices];
extern _Thread_local context_t *current;
extern uint64_t counts[7];
extern pthread_mutex_t lock;
// Registers that code of the linker needs beyond what a load compiles.
extern int more_registers;
enum { count_launches, count_compiled, count_loaded_code, count_linked, count_streams,
       count_modules, count_memory };

// What a call in the current context answers before it does anything.
static inline int ready(void) {
    if (!current || !current->retained) {
        return invalid_context;
    }
    return current->fault;
}

// The same of a handle; `missing` where it is null.
static inline int check(const void *any, kind_t kind) {
    const handle_t *handle = any;
    int status = ready();
    if (status) {
        return status;
    }
    if (!handle || handle->kind != kind) {
        return invalid_handle;
    }
    if (handle->life != contexts[handle->device].handle.life) {
        fprintf(stderr, "a handle of a context that is gone reached the driver\n");
        abort();
    }
    return handle->device == current->handle.device ? ok : invalid_context;
}

static inline void *make(size_t bytes, kind_t kind) {
    handle_t *handle = calloc(1, bytes);
    *handle = (handle_t){kind, current->handle.device, current->handle.life};
    return handle;
}

static inline void counted(int which, int by) {
    pthread_mutex_lock(&lock);
    counts[which] += by;
    pthread_mutex_unlock(&lock);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int status_ = (call);                                                                      \
        if (status_) {                                                                             \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)
