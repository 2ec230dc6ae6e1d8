/*
 * fa3.h: exact softmax attention from C. O = softmax(scale * Q K^T, masked) V on Hopper GPUs, on
 * the CPU, and on an emulated GPU in a library that was built with it.
 *
 * `cargo xtask capi` builds libfa3.so; it needs the CUDA driver at run time only, and nothing else
 * of CUDA ever. C11 and C++11.
 *
 * A device is opened once. fa3_forward computes; fa3_forward_bind checks a call and keeps what it
 * found out, so that fa3_binding_run costs a kernel launch and can be captured in a CUDA graph.
 *
 *     fa3_forward_args args = {.struct_size = sizeof args, .flags = FA3_CAUSAL};
 *     args.q = fa3_contiguous(q, FA3_BF16, 1, 1024, 16, 128); // batch, sequence, heads, dim
 *     args.k = fa3_contiguous(k, FA3_BF16, 1, 1024, 4, 128);
 *     args.v = fa3_contiguous(v, FA3_BF16, 1, 1024, 4, 128);
 *     args.o = fa3_contiguous(o, FA3_BF16, 1, 1024, 16, 128);
 *     if (fa3_device_open("cuda:0", &device) || fa3_forward(device, &args, stream))
 *         fprintf(stderr, "%s\n", fa3_last_error());
 *
 * Errors. A function that can fail returns a fa3_status, 0 when it succeeded. The message, which
 * names the argument, its value, the rule and what would do, is the calling thread's
 * fa3_last_error. Nothing that was asked for is ignored or replaced: what the device does not take
 * is FA3_ERROR_UNSUPPORTED, with every reason. No input makes the library end the process, but a
 * pointer that is neither null nor valid.
 *
 * Threads. Every function may be called on any thread at any time, on shared handles too, except
 * that closing or freeing a handle is the last use of it.
 *
 * CUDA. The device's primary context is used: the one of the CUDA runtime and of PyTorch, whose
 * pointers and streams are valid here. Each call leaves the calling thread's current context as it
 * was.
 */
#ifndef FA3_H
#define FA3_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define FA3_VERSION_MAJOR 0
#define FA3_VERSION_MINOR 1
#define FA3_VERSION_PATCH 0
#define FA3_VERSION (FA3_VERSION_MAJOR * 1000000 + FA3_VERSION_MINOR * 1000 + FA3_VERSION_PATCH)

/* The version of the library, as FA3_VERSION counts it. */
uint32_t fa3_version(void);

/* ---- Errors ---- */

typedef int32_t fa3_status;

enum {
    FA3_OK = 0,
    /* An argument breaks a rule that holds on every device. */
    FA3_ERROR_ARGUMENT = 1,
    /* struct_size is no size that this library knows, or what lies beyond it is not zero. */
    FA3_ERROR_STRUCT_SIZE = 2,
    /* A pointer is null that must not be. */
    FA3_ERROR_NULL_POINTER = 3,
    /* A pointer is not aligned as it must be, or an output shares memory with another operand. */
    FA3_ERROR_ADDRESS = 4,
    /* The workspace is too small. */
    FA3_ERROR_WORKSPACE = 5,
    /* The call is well-formed, and the device does not take it. */
    FA3_ERROR_UNSUPPORTED = 6,
    /* There is not enough memory. */
    FA3_ERROR_OUT_OF_MEMORY = 7,
    /* No such device, no driver, or a library built without the backend or the kernel. */
    FA3_ERROR_UNAVAILABLE = 8,
    /* The device or its driver refused. */
    FA3_ERROR_DEVICE = 9,
    /* Work on the device failed, maybe that of an earlier call. A CUDA context is lost by it. */
    FA3_ERROR_FAULT = 10,
    /* An error in this library; please report it. */
    FA3_ERROR_INTERNAL = 11
};

/* "FA3_ERROR_ARGUMENT", or "unknown". Lives as long as the library. */
const char* fa3_status_name(fa3_status status);

/*
 * What the calling thread's last call that failed said, in UTF-8; "" where none has. Valid until
 * another call fails on this thread, or it ends. A program whose tasks move between threads reads
 * it before the task can move.
 */
const char* fa3_last_error(void);

/* ---- Devices ---- */

/* A device that is open, and the memory allocated on it. */
typedef struct fa3_device fa3_device;

/*
 * Opens "cpu", "cuda" (the first), "cuda:N" or, in a library built with the emulator,
 * "emu:sm_90a", whose kernels run without a GPU with every access checked, slowly.
 *
 * FA3_ERROR_ARGUMENT for another name, FA3_ERROR_UNAVAILABLE; *device is NULL then.
 */
fa3_status fa3_device_open(const char* name, fa3_device** device);

/*
 * Closes the device. Its memory is freed then, or when its last binding is. NULL is allowed.
 */
void fa3_device_close(fa3_device* device);

/* "cuda:0 (NVIDIA H200)". Lives as long as the handle; "" for NULL. */
const char* fa3_device_description(const fa3_device* device);

/*
 * Waits until all that was submitted to `stream` is done, and reports what failed in it. A stream
 * is a CUstream or cudaStream_t, NULL the default one. The CPU and the emulator have done each
 * call when it returns, and ignore it.
 */
fa3_status fa3_device_synchronize(const fa3_device* device, void* stream);

/*
 * Memory of the device, for programs that have no other means to it; on the CPU any memory of the
 * process will do, on a GPU any of its context. The emulator's is reached in this way alone.
 * Allocations are aligned to 256 bytes. Copies return when they are done, in the stream's order.
 * Free what no work uses any more; NULL is allowed.
 */
fa3_status fa3_memory_allocate(const fa3_device* device, size_t bytes, void** address);
fa3_status fa3_memory_free(const fa3_device* device, void* address);
fa3_status fa3_memory_upload(const fa3_device* device, void* to, const void* from_host,
                             size_t bytes, void* stream);
fa3_status fa3_memory_download(const fa3_device* device, void* to_host, const void* from,
                               size_t bytes, void* stream);

/* ---- Tensors ---- */

/* The type of a tensor's elements. */
enum {
    FA3_F16 = 1,
    FA3_BF16 = 2,
    /* The CPU only. */
    FA3_F32 = 3
};

/*
 * A tensor. Shape and strides are in elements and in the order batch, sequence, heads, dim,
 * whatever the order in memory; the last stride is 1. A stride of 0 repeats a slice, in inputs; the
 * stride of a dimension of one element means nothing. None is negative. On a GPU the address is a
 * multiple of 16 bytes, and so is every other stride that means something.
 */
typedef struct fa3_tensor {
    /* The first element, in the device's memory. */
    void* data;
    int32_t dtype;
    /* 0. */
    int32_t reserved;
    int64_t shape[4];
    int64_t strides[4];
} fa3_tensor;

/* Row-major [batch, sequence, heads, dim]. */
static inline fa3_tensor fa3_contiguous(void* data, int32_t dtype, int64_t batch, int64_t sequence,
                                        int64_t heads, int64_t dim) {
    fa3_tensor tensor = {data, dtype, 0, {batch, sequence, heads, dim}, {0, 0, dim, 1}};
    tensor.strides[1] = heads * dim;
    tensor.strides[0] = sequence * tensor.strides[1];
    return tensor;
}

/* ---- The forward pass ---- */

/* How the sequences of a batch lie in the tensors. */
enum {
    /* Every sequence of full length. */
    FA3_DENSE = 0,
    /* Batch entry b uses its first used_k[b] keys alone; beyond, K and V may hold anything. */
    FA3_USED_KEYS = 1,
    /*
     * Tensors of shape [1, total, heads, dim]: sequence n is the tokens cu_q[n] to cu_q[n + 1] of Q
     * and O, cu_k[n] to cu_k[n + 1] of K and V.
     */
    FA3_PACKED = 2
};

/* Options: bits of `flags`. A field that a flag is named for must be 0 without it. */
enum {
    /* Query i sees key j only when j <= i + (sk - sq). */
    FA3_CAUSAL = 1 << 0,
    /* window_left and window_right hold. */
    FA3_WINDOW = 1 << 1,
    /* scale holds; without this it is 1/sqrt(dim). */
    FA3_SCALE = 1 << 2,
    /* softcap holds. */
    FA3_SOFTCAP = 1 << 3,
    /*
     * The bits of a row depend on its own sequence alone, whatever others are in the batch and
     * however it is stored. May cost speed.
     */
    FA3_BATCH_INVARIANT = 1 << 4
};

/*
 * One forward call. All zero but for struct_size and the four tensors is plain attention.
 *
 * The scaled score of query i and key j is s = scale * q.k, capped to softcap * tanh(s / softcap),
 * less slope * |i + sk - sq - j|; masks are aligned at the last query and key. A row that sees no
 * key is 0, with an LSE of -infinity. Where a mask, a bias or a length is documented with sq and
 * sk, they are the lengths of the sequence.
 *
 * The structure grows at its end, by fields that mean nothing when they are zero. So a program
 * built with an older header works with a newer library, and one built with a newer header with an
 * older library as long as it leaves the new fields zero.
 */
typedef struct fa3_forward_args {
    /* sizeof(fa3_forward_args). */
    size_t struct_size;
    /* FA3_CAUSAL | ... */
    uint32_t flags;
    /* FA3_DENSE, FA3_USED_KEYS or FA3_PACKED. */
    int32_t sequences;
    /* [batch, sq, heads_q, d]. */
    fa3_tensor q;
    /* [batch, sk, heads_k, d]; heads_k divides heads_q: query head h reads head h / (heads_q /
     * heads_k). */
    fa3_tensor k;
    /* [batch, sk, heads_k, dv]. */
    fa3_tensor v;
    /* [batch, sq, heads_q, dv]; written. */
    fa3_tensor o;
    /*
     * [batch, heads_q, sq], or [heads_q, total] of packed sequences; written: the natural logarithm
     * of the softmax's denominator. NULL where it is not wanted.
     */
    float* lse;
    /* [heads_q]: one more logit a head, already scaled, in the denominator alone; or NULL. */
    const float* sinks;
    /* [heads_q]: ALiBi slopes, or NULL. */
    const float* alibi_slopes;
    /* [batch], of FA3_USED_KEYS; else NULL. */
    const int32_t* used_k;
    /* [count + 1] each, of FA3_PACKED: rising from 0 to the total; else NULL. */
    const int32_t* cu_q;
    const int32_t* cu_k;
    /* Of FA3_PACKED: how many sequences, and the lengths of the longest; else 0. */
    int64_t count;
    int64_t max_q;
    int64_t max_k;
    /*
     * Of FA3_WINDOW: how many keys before and after the query's own position i + (sk - sq) it sees;
     * negative is unbounded.
     */
    int64_t window_left;
    int64_t window_right;
    /* Of FA3_SCALE. */
    float scale;
    /* Of FA3_SOFTCAP; positive. */
    float softcap;
    /*
     * Memory of the device to work in, aligned to 256 bytes, of as many bytes as
     * fa3_forward_workspace says. NULL and 0: the call or the binding allocates it.
     */
    void* workspace;
    size_t workspace_bytes;
} fa3_forward_args;

/*
 * How many bytes of workspace the call needs; and so, whether the device takes it. Of pointers it
 * matters only whether lse, sinks and alibi_slopes are NULL.
 */
fa3_status fa3_forward_workspace(const fa3_device* device, const fa3_forward_args* args,
                                 size_t* bytes);

/*
 * Computes, on `stream`: checks the call, chooses the kernel and launches it. On a GPU it is done
 * when the stream is; operands and workspace live until then. What failed there is reported by a
 * later call. Without a workspace of the caller's it may allocate, and wait for the device to free.
 */
fa3_status fa3_forward(const fa3_device* device, const fa3_forward_args* args, void* stream);

/* A call that was checked, with its kernel loaded and its addresses encoded. */
typedef struct fa3_binding fa3_binding;

/* Checks the call and keeps it; `args` is not needed afterwards. *binding is NULL on failure. */
fa3_status fa3_forward_bind(const fa3_device* device, const fa3_forward_args* args,
                            fa3_binding** binding);

/*
 * Computes on `stream`, with what the operands hold by then. Allocates nothing on the device and
 * waits for nothing, so that a CUDA graph can capture it. Operands, workspace and binding live
 * until the stream, or the last replay of the graph, is done. Runs of one binding write the same
 * output and use the same workspace: order them by a stream.
 */
fa3_status fa3_binding_run(const fa3_binding* binding, void* stream);

/* Which kernel runs and how, for a person to read. Lives as long as the handle; "" for NULL. */
const char* fa3_binding_plan(const fa3_binding* binding);

/* Frees the binding, and the workspace if it is the binding's own. NULL is allowed. */
void fa3_binding_free(fa3_binding* binding);

#ifdef __cplusplus
}
#endif

#endif /* FA3_H */
