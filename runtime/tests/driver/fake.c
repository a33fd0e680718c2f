// A driver without GPUs: devices, contexts, memory, streams. See fake.h.
#include "fake.h"

context_t contexts[devices];
_Thread_local context_t *current;
uint64_t counts[7];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// For tests: what was counted, and a kernel that faults.
int more_registers;

uint64_t fake_count(int which) { return counts[which]; }
void fake_link(int registers) { more_registers = registers; }
void fake_fault(int device, int code) { contexts[device].fault = code; }

// What a fresh process meets. Who retained a context is forgotten, so that a release that is one
// too many would be seen.
void fake_process(void) {
    for (int device = 0; device < devices; device++) {
        context_t *it = &contexts[device];
        if (it->fault) {
            it->retained = it->fault = it->handle.life = 0;
        }
    }
}

int cuInit(unsigned flags) { return flags ? invalid_value : ok; }

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return ok;
}

int cuDeviceGetCount(int *count) {
    *count = devices;
    return ok;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < devices ? ok : invalid_device;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    switch (which) {
    case 16: *value = 4; break;       // multiprocessors
    case 38: *value = 1 << 20; break; // cache
    case 75: *value = 9; break;       // major
    case 76: *value = 0; break;       // minor
    case 97: *value = 232448; break;  // shared memory
    default: *value = 0;
    }
    return ok;
}

int cuDeviceGetName(char *name, int bytes, int device) {
    snprintf(name, bytes, "Fake GPU %d", device);
    return ok;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)1 << 32;
    return ok;
}

int cuDevicePrimaryCtxRetain(context_t **context, int device) {
    context_t *it = &contexts[device];
    // As seen of the driver: who faulted gets no other context.
    if (it->fault) {
        return it->fault;
    }
    if (it->retained++ == 0) {
        it->handle = (handle_t){context_kind, device, ++it->lives};
    }
    *context = it;
    return ok;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    context_t *it = &contexts[device];
    if (it->retained == 0) {
        return invalid_context;
    }
    it->handle.life = --it->retained == 0 ? 0 : it->handle.life;
    return ok;
}

int cuCtxGetCurrent(context_t **context) {
    *context = current;
    return ok;
}

int cuCtxSetCurrent(context_t *context) {
    current = context;
    return ok;
}

int cuCtxGetDevice(int *device) {
    if (!current) {
        return invalid_context;
    }
    *device = current->handle.device;
    return ok;
}

int cuCtxSynchronize(void) { return ready(); }
int cuThreadExchangeStreamCaptureMode(int *mode) { return *mode = 2, ok; }

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    TRY(ready());
    size_t whole = (bytes + 511) & ~(size_t)255;
    char *block = aligned_alloc(256, whole);
    *(handle_t *)block = (handle_t){memory_kind, current->handle.device, current->handle.life};
    *address = (uint64_t)(uintptr_t)(block + 256);
    counted(count_memory, 1);
    return ok;
}

int cuMemFree_v2(uint64_t address) {
    char *block = (char *)(uintptr_t)address - 256;
    TRY(check(block, memory_kind));
    free(block);
    counted(count_memory, -1);
    return ok;
}

int cuMemsetD8Async(uint64_t address, unsigned char byte, size_t bytes, stream_t *stream) {
    TRY(check(stream, stream_kind));
    memset((void *)(uintptr_t)address, byte, bytes);
    return ok;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, stream_t *stream) {
    TRY(check(stream, stream_kind));
    memcpy((void *)(uintptr_t)to, from, bytes);
    return ok;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, stream_t *stream) {
    TRY(check(stream, stream_kind));
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return ok;
}

int cuStreamCreate(stream_t **stream, unsigned flags) {
    (void)flags;
    TRY(ready());
    *stream = make(sizeof **stream, stream_kind);
    counted(count_streams, 1);
    return ok;
}

int cuStreamDestroy_v2(stream_t *stream) {
    TRY(check(stream, stream_kind));
    free(stream);
    counted(count_streams, -1);
    return ok;
}

int cuStreamSynchronize(stream_t *stream) { return check(stream, stream_kind); }

// An event is a stream of its own, of which nothing is asked.
int cuEventCreate(stream_t **event, unsigned flags) { return cuStreamCreate(event, flags); }
int cuEventDestroy_v2(stream_t *event) { return cuStreamDestroy_v2(event); }

int cuEventRecord(stream_t *event, stream_t *stream) {
    TRY(check(event, stream_kind));
    return check(stream, stream_kind);
}

int cuGetErrorName(int code, const char **name) {
    *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return ok;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == 700 ? "an illegal memory access was encountered" : "a fake error";
    return ok;
}
