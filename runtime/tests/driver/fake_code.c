// A driver without GPUs: code, launches, captures. PTX is kept as text; of all kernels it runs the
// copy of the fixture alone. See fake.h.
#include "fake.h"

// Machine code is the PTX with this before it.
static const char magic[] = "FAKECODE";

int cuModuleLoadDataEx(module_t **module, const char *image, unsigned count, int *options,
                       void **values) {
    (void)count, (void)options, (void)values;
    TRY(ready());
    int is_code = strncmp(image, magic, sizeof magic - 1) == 0;
    const char *text = is_code ? image + sizeof magic - 1 : image;
    if (!strstr(text, ".visible .entry")) {
        return invalid_image;
    }
    *module = make(sizeof **module, module_kind);
    (*module)->text = strdup(text);
    (*module)->is_code = is_code;
    counted(is_code ? count_loaded_code : count_compiled, 1);
    counted(count_modules, 1);
    return ok;
}

int cuModuleUnload(module_t *module) {
    TRY(check(module, module_kind));
    free(module->text);
    free(module);
    counted(count_modules, -1);
    return ok;
}

int cuLinkCreate_v2(unsigned count, int *options, void **values, linker_t **linker) {
    (void)count, (void)options, (void)values;
    TRY(ready());
    *linker = make(sizeof **linker, linker_kind);
    return ok;
}

int cuLinkAddData_v2(linker_t *linker, int kind, const char *text, size_t bytes, const char *name,
                     unsigned count, int *options, void **values) {
    (void)name, (void)count, (void)options, (void)values;
    TRY(check(linker, linker_kind));
    if (kind != 1 || bytes == 0 || text[bytes - 1] != 0) {
        return invalid_value;
    }
    linker->bytes = sizeof magic - 1 + bytes;
    linker->code = malloc(linker->bytes);
    memcpy(linker->code, magic, sizeof magic - 1);
    memcpy(linker->code + sizeof magic - 1, text, bytes);
    return ok;
}

int cuLinkComplete(linker_t *linker, void **code, size_t *bytes) {
    TRY(check(linker, linker_kind));
    *code = linker->code;
    *bytes = linker->bytes;
    counted(count_linked, 1);
    return ok;
}

int cuLinkDestroy(linker_t *linker) {
    free(linker->code);
    free(linker);
    return ok;
}

// The sizes of an entry's parameters, from the text: `.param .u32 m, .param .u64 lds`.
static void read_params(const char *text, params_t *params) {
    const char *end = strchr(text, '{');
    for (const char *at = text; (at = strstr(at, ".param ")) && at < end; at++) {
        const char *bits = at + strlen(".param .u");
        params->sizes[params->count++] = strtoul(bits, NULL, 10) / 8;
    }
}

int cuModuleGetFunction(function_t **function, module_t *module, const char *name) {
    TRY(check(module, module_kind));
    char head[96];
    snprintf(head, sizeof head, ".entry %s(", name);
    const char *at = strstr(module->text, head);
    if (!at) {
        return not_found;
    }
    *function = make(sizeof **function, function_kind);
    snprintf((*function)->name, sizeof(*function)->name, "%s", name);
    read_params(at, &(*function)->params);
    (*function)->is_code = module->is_code;
    return ok;
}

int cuFuncGetAttribute(int *value, int which, function_t *function) {
    TRY(check(function, function_kind));
    int registers = function->is_code ? 32 + more_registers : 32;
    *value = which == 0 ? 1024 : which == 4 ? registers : 0;
    return ok;
}

int cuFuncSetAttribute(function_t *function, int which, int value) {
    (void)which, (void)value;
    return check(function, function_kind);
}

// Two CTAs of any kernel find room on a multiprocessor.
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, function_t *function, int threads,
                                                size_t smem_bytes) {
    (void)threads, (void)smem_bytes;
    TRY(check(function, function_kind));
    *ctas = 2;
    return ok;
}

int cuFuncGetParamInfo(function_t *function, size_t index, size_t *offset, size_t *bytes) {
    TRY(check(function, function_kind));
    if (index >= (size_t)function->params.count) {
        return invalid_value;
    }
    size_t next = 0;
    for (size_t at = 0; at <= index; at++) {
        *bytes = function->params.sizes[at];
        *offset = (next + *bytes - 1) / *bytes * *bytes;
        next = *offset + *bytes;
    }
    return ok;
}

static node_t filled(function_t *function, void **values) {
    node_t node = {function, function->params};
    for (int at = 0; at < node.params.count; at++) {
        memcpy(&node.params.values[at], values[at], node.params.sizes[at]);
    }
    return node;
}

static void run(const node_t *node) {
    const uint64_t *values = node->params.values;
    if (strcmp(node->function->name, "copy_f32") == 0) {
        float *from = (float *)(uintptr_t)values[0], *to = (float *)(uintptr_t)values[1];
        for (uint64_t row = 0; row < values[2]; row++) {
            memcpy(to + row * values[5], from + row * values[4], values[3] * sizeof(float));
        }
    }
    counted(count_launches, 1);
}

int cuLaunchKernel(function_t *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   stream_t *stream, void **values, void **extra) {
    (void)block_x, (void)block_y, (void)block_z, (void)shared, (void)extra;
    TRY(check(stream, stream_kind));
    TRY(check(function, function_kind));
    if (!grid_x || !grid_y || !grid_z) {
        return invalid_value;
    }
    node_t node = filled(function, values);
    if (!stream->capture) {
        run(&node);
        return ok;
    }
    graph_t *graph = stream->capture;
    stream->last = &graph->nodes[graph->count++];
    *stream->last = node;
    return ok;
}

int cuStreamBeginCapture_v2(stream_t *stream, int mode) {
    static uint64_t next;
    (void)mode;
    TRY(check(stream, stream_kind));
    stream->capture = make(sizeof(graph_t), graph_kind);
    stream->capture_id = ++next;
    return ok;
}

int cuStreamEndCapture(stream_t *stream, graph_t **graph) {
    TRY(check(stream, stream_kind));
    *graph = stream->capture;
    stream->capture = NULL;
    return ok;
}

int cuStreamGetCaptureInfo_v3(stream_t *stream, int *status, uint64_t *id, graph_t **graph,
                              node_t ***nodes, const void **edges, size_t *count) {
    TRY(check(stream, stream_kind));
    *status = stream->capture != NULL;
    *id = stream->capture_id;
    if (graph) {
        *graph = stream->capture;
    }
    if (nodes) {
        *nodes = &stream->last;
        *edges = NULL;
        *count = 1;
    }
    return ok;
}

// An executable graph is the graph itself, which goes with the graph.
int cuGraphInstantiateWithFlags(graph_t **executable, graph_t *graph, uint64_t flags) {
    (void)flags;
    TRY(check(graph, graph_kind));
    *executable = graph;
    return ok;
}

int cuGraphUpload(graph_t *graph, stream_t *stream) {
    (void)stream;
    return check(graph, graph_kind);
}

int cuGraphLaunch(graph_t *graph, stream_t *stream) {
    TRY(check(stream, stream_kind));
    TRY(check(graph, graph_kind));
    for (int at = 0; at < graph->count; at++) {
        run(&graph->nodes[at]);
    }
    return ok;
}

typedef struct {
    function_t *function;
    unsigned grid[3], block[3], shared;
    void **values, **extra, *kernel, *context;
} node_params_t;

int cuGraphExecKernelNodeSetParams_v2(graph_t *graph, node_t *node, const node_params_t *params) {
    TRY(check(graph, graph_kind));
    TRY(check(params->function, function_kind));
    *node = filled(params->function, params->values);
    return ok;
}

int cuGraphExecDestroy(graph_t *graph) { return check(graph, graph_kind); }

int cuGraphDestroy(graph_t *graph) {
    TRY(check(graph, graph_kind));
    free(graph);
    return ok;
}
