/* errors [EMULATED]: what is refused, with which code, and that the message names the argument. */
#include "check.h"

static float q[64], k[64], v[64], o[64], lse[64];

/* One that is accepted, for each refusal to spoil. */
static fa3_forward_args good(void) {
    fa3_forward_args args = {.struct_size = sizeof args};
    args.q = fa3_contiguous(q, FA3_F32, 1, 2, 2, 4);
    args.k = fa3_contiguous(k, FA3_F32, 1, 3, 1, 4);
    args.v = fa3_contiguous(v, FA3_F32, 1, 3, 1, 4);
    args.o = fa3_contiguous(o, FA3_F32, 1, 2, 2, 4);
    args.lse = lse;
    return args;
}

/* The three functions that read arguments refuse alike. */
static void refused(const fa3_device* device, const fa3_forward_args* args, fa3_status status,
                    const char* text) {
    fa3_binding* binding = (fa3_binding*)8;
    size_t bytes = 77;
    REFUSED(fa3_forward(device, args, NULL), status, text);
    REFUSED(fa3_forward_bind(device, args, &binding), status, text);
    CHECK(binding == NULL);
    /* It looks at no addresses, and not at arrays of lengths. */
    if (status != FA3_ERROR_ADDRESS && strstr(text, "null") == NULL &&
        strstr(text, "given") == NULL) {
        REFUSED(fa3_forward_workspace(device, args, &bytes), status, text);
        CHECK(bytes == 0);
    }
}

#define SPOILED(field, value, status, text)        \
    do {                                           \
        fa3_forward_args args_ = good();           \
        args_.field = (value);                     \
        refused(device, &args_, (status), (text)); \
    } while (0)

static void arguments(const fa3_device* device) {
    SPOILED(flags, 1u << 31, FA3_ERROR_ARGUMENT, "args.flags is 0x80000000");
    SPOILED(sequences, 3, FA3_ERROR_ARGUMENT, "args.sequences is 3");
    SPOILED(sequences, -1, FA3_ERROR_ARGUMENT, "args.sequences is -1");
    SPOILED(q.dtype, 0, FA3_ERROR_ARGUMENT, "q.dtype is 0");
    SPOILED(k.dtype, 99, FA3_ERROR_ARGUMENT, "k.dtype is 99");
    SPOILED(v.dtype, FA3_BF16, FA3_ERROR_ARGUMENT, "v.dtype is bf16");
    SPOILED(o.reserved, 1, FA3_ERROR_ARGUMENT, "o.reserved is 1");
    SPOILED(q.shape[1], -2, FA3_ERROR_ARGUMENT, "q.shape[1] is -2");
    SPOILED(o.shape[3], INT64_MIN, FA3_ERROR_ARGUMENT, "o.shape[3] is -9223372036854775808");
    SPOILED(k.strides[2], -4, FA3_ERROR_ARGUMENT, "k.strides[2] is -4");
    SPOILED(v.strides[3], 2, FA3_ERROR_ARGUMENT, "v.strides is [12, 4, 4, 2]");
    SPOILED(q.shape[0], INT64_MAX, FA3_ERROR_ARGUMENT, "k.shape is [1, 3, 1, 4]");
    SPOILED(q.strides[1], INT64_MAX, FA3_ERROR_ARGUMENT, "q.strides");
    SPOILED(o.strides[1], 0, FA3_ERROR_ARGUMENT, "o.strides");
    SPOILED(k.shape[2], 3, FA3_ERROR_ARGUMENT, "v.shape");
    /* What would be ignored. */
    SPOILED(window_left, -1, FA3_ERROR_ARGUMENT,
            "args.window_left is -1, but it means nothing without FA3_WINDOW");
    SPOILED(window_right, 4, FA3_ERROR_ARGUMENT, "args.window_right is 4");
    SPOILED(scale, 0.5f, FA3_ERROR_ARGUMENT, "args.scale is 0.5");
    SPOILED(softcap, 30.0f, FA3_ERROR_ARGUMENT, "args.softcap is 30");
    SPOILED(flags, FA3_SOFTCAP, FA3_ERROR_ARGUMENT, "softcap is 0");
    SPOILED(count, 1, FA3_ERROR_ARGUMENT, "args.count is 1");
    SPOILED(max_q, 1, FA3_ERROR_ARGUMENT, "args.max_q is 1");
    SPOILED(max_k, -1, FA3_ERROR_ARGUMENT, "args.max_k is -1");
    SPOILED(used_k, (const int32_t*)q, FA3_ERROR_ARGUMENT, "used_k is given, but all keys count");
    SPOILED(cu_q, (const int32_t*)q, FA3_ERROR_ARGUMENT,
            "cu_q is given, but sequences are not packed");
}

static void sizes(const fa3_device* device) {
    struct {
        fa3_forward_args args;
        char later[64];
    } newer;
    SPOILED(struct_size, 0, FA3_ERROR_STRUCT_SIZE, "args.struct_size is 0");
    SPOILED(struct_size, sizeof(fa3_forward_args) - 1, FA3_ERROR_STRUCT_SIZE,
            "sizeof(fa3_forward_args)");
    SPOILED(struct_size, SIZE_MAX, FA3_ERROR_STRUCT_SIZE,
            "args.struct_size is 18446744073709551615");
    /* A program with a newer header is served until it uses what is new. */
    memset(&newer, 0, sizeof newer);
    newer.args = good();
    newer.args.struct_size = sizeof newer;
    CHECK(fa3_forward(device, &newer.args, NULL) == FA3_OK);
    newer.later[9] = 1;
    refused(device, &newer.args, FA3_ERROR_STRUCT_SIZE, "is set, which it cannot honour");
}

static void pointers(fa3_device* device) {
    fa3_forward_args args = good();
    fa3_device* opened = NULL;
    fa3_binding* binding = NULL;
    void* address = NULL;
    size_t bytes = 0;
    int32_t lengths[2] = {0, 2};
    SPOILED(q.data, NULL, FA3_ERROR_NULL_POINTER, "q is a null pointer");
    SPOILED(o.data, NULL, FA3_ERROR_NULL_POINTER, "o is a null pointer");
    SPOILED(sequences, FA3_USED_KEYS, FA3_ERROR_NULL_POINTER, "used_k is not given");
    SPOILED(workspace_bytes, 8, FA3_ERROR_NULL_POINTER, "args.workspace is a null pointer");
    SPOILED(k.data, (char*)k + 2, FA3_ERROR_ADDRESS, "k is at 0x");
    SPOILED(lse, (float*)((char*)lse + 1), FA3_ERROR_ADDRESS, "lse is at 0x");
    SPOILED(v.data, o, FA3_ERROR_ADDRESS, "o and v share memory");
    args.sequences = FA3_PACKED;
    args.count = 1, args.max_q = 2, args.max_k = 3, args.cu_q = lengths;
    refused(device, &args, FA3_ERROR_NULL_POINTER, "cu_k is not given");
    args.max_q = -1;
    refused(device, &args, FA3_ERROR_ARGUMENT, "args.max_q is -1");
    args = good();

    refused(device, NULL, FA3_ERROR_NULL_POINTER, "args is a null pointer");
    refused(device, (fa3_forward_args*)((char*)&args + 4), FA3_ERROR_ADDRESS, "args is at 0x");
    refused(NULL, &args, FA3_ERROR_NULL_POINTER, "device is a null pointer");
    REFUSED(fa3_forward_workspace(device, &args, NULL), FA3_ERROR_NULL_POINTER,
            "bytes is a null pointer");
    REFUSED(fa3_forward_workspace(NULL, &args, &bytes), FA3_ERROR_NULL_POINTER, "fa3_device_open");
    REFUSED(fa3_forward_bind(device, &args, NULL), FA3_ERROR_NULL_POINTER,
            "binding is a null pointer");
    REFUSED(fa3_binding_run(NULL, NULL), FA3_ERROR_NULL_POINTER, "fa3_forward_bind");
    REFUSED(fa3_device_open("cpu", NULL), FA3_ERROR_NULL_POINTER, "device is a null pointer");
    REFUSED(fa3_device_open(NULL, &opened), FA3_ERROR_NULL_POINTER, "name is a null pointer");
    REFUSED(fa3_device_synchronize(NULL, NULL), FA3_ERROR_NULL_POINTER, "device");
    REFUSED(fa3_memory_allocate(NULL, 1, &address), FA3_ERROR_NULL_POINTER, "device");
    REFUSED(fa3_memory_allocate(device, 1, NULL), FA3_ERROR_NULL_POINTER, "address");
    REFUSED(fa3_memory_free(NULL, q), FA3_ERROR_NULL_POINTER, "device");
    REFUSED(fa3_memory_upload(device, NULL, q, 4, NULL), FA3_ERROR_NULL_POINTER, "to is a null");
    REFUSED(fa3_memory_upload(device, q, NULL, 4, NULL), FA3_ERROR_NULL_POINTER,
            "from_host is a null");
    REFUSED(fa3_memory_download(device, NULL, q, 4, NULL), FA3_ERROR_NULL_POINTER,
            "to_host is a null");
    REFUSED(fa3_memory_download(device, q, NULL, 4, NULL), FA3_ERROR_NULL_POINTER,
            "from is a null");
    REFUSED(fa3_memory_upload(device, q, k, SIZE_MAX, NULL), FA3_ERROR_ARGUMENT,
            "bytes is 18446744073709551615");

    /* Nothing is no mistake where it says so. */
    CHECK(fa3_memory_upload(device, NULL, NULL, 0, NULL) == FA3_OK);
    CHECK(fa3_memory_free(device, NULL) == FA3_OK);
    fa3_device_close(NULL);
    fa3_binding_free(NULL);
    CHECK(strcmp(fa3_device_description(NULL), "") == 0 && strcmp(fa3_binding_plan(NULL), "") == 0);
    CHECK(fa3_forward_bind(device, &args, &binding) == FA3_OK);
    fa3_binding_free(binding);
}

static void devices(const fa3_device* device) {
    const char* absent[] = {"cuda:4000000000", "emu:sm_100a"};
    fa3_device* opened = (fa3_device*)8;
    void* address = (void*)8;
    size_t i;
    REFUSED(fa3_device_open("gpu", &opened), FA3_ERROR_ARGUMENT, "`gpu`");
    CHECK(opened == NULL);
    REFUSED(fa3_device_open("cpu\xff", &opened), FA3_ERROR_ARGUMENT, "name is");
    for (i = 0; i < 2; ++i) REFUSED(fa3_device_open(absent[i], &opened), FA3_ERROR_UNAVAILABLE, "");
    REFUSED(fa3_memory_allocate(device, SIZE_MAX / 2, &address), FA3_ERROR_OUT_OF_MEMORY,
            "bytes of host memory");
    CHECK(address == NULL);
    REFUSED(fa3_memory_free(device, q), FA3_ERROR_DEVICE, "no live allocation");
}

/* Lengths are read when the call runs. */
static void lengths(const fa3_device* device) {
    int32_t used[1] = {4};
    fa3_forward_args args = good();
    args.sequences = FA3_USED_KEYS;
    args.used_k = used;
    REFUSED(fa3_forward(device, &args, NULL), FA3_ERROR_ARGUMENT, "used_k[0] = 4");
    used[0] = 3;
    CHECK(fa3_forward(device, &args, NULL) == FA3_OK);
}

/* What only kernels refuse, and what only an emulated device survives. */
static void emulated(const char* name) {
    static uint16_t data[64];
    fa3_device* device = open_device(name);
    fa3_forward_args args = good();
    args.q.dtype = args.k.dtype = args.v.dtype = args.o.dtype = FA3_F32;
    refused(device, &args, FA3_ERROR_UNSUPPORTED, "f32");
    args = (fa3_forward_args){.struct_size = sizeof args};
    args.q = fa3_contiguous(on_device(device, data, sizeof data), FA3_BF16, 1, 1, 1, 64);
    args.k = fa3_contiguous(on_device(device, data, sizeof data), FA3_BF16, 1, 1, 1, 64);
    args.v = fa3_contiguous(on_device(device, data, sizeof data), FA3_BF16, 1, 1, 1, 64);
    args.o = fa3_contiguous(on_device(device, data, sizeof data), FA3_BF16, 1, 1, 1, 64);
    CHECK(fa3_forward(device, &args, NULL) == FA3_OK);
    CHECK(fa3_memory_free(device, args.k.data) == FA3_OK);
    REFUSED(fa3_forward(device, &args, NULL), FA3_ERROR_FAULT, "");
    fa3_device_close(device);
}

int main(int argc, char** argv) {
    fa3_device* device = open_device("cpu");
    fa3_forward_args args = good();
    size_t bytes = 1;
    CHECK(fa3_version() == FA3_VERSION);
    CHECK(strcmp(fa3_last_error(), "") == 0);
    CHECK(strcmp(fa3_status_name(FA3_ERROR_STRUCT_SIZE), "FA3_ERROR_STRUCT_SIZE") == 0);
    CHECK(fa3_forward_workspace(device, &args, &bytes) == FA3_OK && bytes == 0);
    CHECK(fa3_forward(device, &args, NULL) == FA3_OK);
    arguments(device);
    sizes(device);
    pointers(device);
    devices(device);
    lengths(device);
    if (argc > 1) emulated(argv[1]);
    /* The message stays until the next failure. */
    CHECK(fa3_forward(device, &args, NULL) == FA3_OK && strcmp(fa3_last_error(), "") != 0);
    fa3_device_close(device);
    return 0;
}
