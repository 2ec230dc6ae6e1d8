/*
 * values DEVICE LEAST: attention through the C API against the definition, written out in double.
 * The device takes at least so many of the problems.
 */
#include <math.h>

#include "check.h"

typedef struct {
    const char* name;
    int32_t dtype;
    int64_t batch, sq, sk, heads_q, heads_k, d, dv;
    uint32_t flags;
    int64_t left, right;
    float scale, softcap;
    int32_t sequences;
    int sinks, slopes, heads_first;
} problem;

static const problem PROBLEMS[] = {
    {"plain", FA3_BF16, 2, 5, 7, 4, 2, 64, 64, 0, 0, 0, 0, 0, FA3_DENSE, 0, 0, 0},
    {"causal", FA3_BF16, 1, 7, 5, 2, 1, 64, 64, FA3_CAUSAL, 0, 0, 0, 0, FA3_DENSE, 0, 0, 0},
    {"scale", FA3_BF16, 1, 3, 5, 1, 1, 64, 64, FA3_SCALE, 0, 0, 0.5f, 0, FA3_DENSE, 0, 0, 0},
    {"heads first", FA3_BF16, 2, 5, 7, 4, 4, 64, 64, FA3_CAUSAL, 0, 0, 0, 0, FA3_DENSE, 0, 0, 1},
    {"window", FA3_BF16, 1, 9, 9, 1, 1, 64, 64, FA3_WINDOW, 2, 1, 0, 0, FA3_DENSE, 0, 0, 0},
    {"left window", FA3_BF16, 1, 9, 9, 1, 1, 64, 64, FA3_WINDOW, 3, -1, 0, 0, FA3_DENSE, 0, 0, 0},
    {"softcap", FA3_BF16, 1, 5, 7, 2, 2, 64, 64, FA3_SOFTCAP, 0, 0, 0, 0.5f, FA3_DENSE, 0, 0, 0},
    {"sinks", FA3_BF16, 1, 5, 7, 4, 2, 64, 64, FA3_CAUSAL, 0, 0, 0, 0, FA3_DENSE, 1, 0, 0},
    {"slopes", FA3_BF16, 1, 5, 7, 4, 2, 64, 64, 0, 0, 0, 0, 0, FA3_DENSE, 0, 1, 0},
    {"used keys", FA3_BF16, 3, 5, 7, 2, 1, 64, 64, FA3_CAUSAL, 0, 0, 0, 0, FA3_USED_KEYS, 0, 0, 0},
    {"packed", FA3_BF16, 1, 7, 9, 2, 1, 64, 64, FA3_CAUSAL, 0, 0, 0, 0, FA3_PACKED, 0, 0, 0},
    {"narrow values", FA3_BF16, 1, 5, 7, 2, 1, 40, 24, 0, 0, 0, 0, 0, FA3_DENSE, 0, 0, 0},
    {"all at once", FA3_BF16, 1, 7, 9, 4, 2, 64, 64,
     FA3_CAUSAL | FA3_WINDOW | FA3_SCALE | FA3_SOFTCAP | FA3_BATCH_INVARIANT, 4, 0, 0.25f, 2.0f,
     FA3_PACKED, 1, 1, 1},
    {"f32", FA3_F32, 2, 5, 7, 2, 1, 5, 3, FA3_CAUSAL, 0, 0, 0, 0, FA3_DENSE, 1, 0, 0},
};

/* Three sequences, the second without queries. */
static const int32_t CU_Q[] = {0, 3, 3, 7}, CU_K[] = {0, 4, 6, 9};
/* Of three batch entries, one full and one empty. */
static const int32_t USED_K[] = {7, 3, 0};

/* Numbers between -1 and 1. */
static double noise(uint32_t* state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1.0;
}

static size_t bytes_of(int32_t dtype) { return dtype == FA3_F32 ? 4 : 2; }

static double load(const void* data, int32_t dtype, int64_t index) {
    uint32_t bits;
    float value;
    if (dtype == FA3_F32) return ((const float*)data)[index];
    bits = (uint32_t)((const uint16_t*)data)[index] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bf16 by cutting off: the inputs are what it gives. */
static void store(void* data, int32_t dtype, int64_t index, double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == FA3_F32)
        ((float*)data)[index] = narrow;
    else
        ((uint16_t*)data)[index] = (uint16_t)(bits >> 16);
}

/* A tensor whose data lie on the host. */
static fa3_tensor tensor(const problem* p, int64_t sequence, int64_t heads, int64_t dim,
                         uint32_t* state) {
    int64_t i, count = p->batch * sequence * heads * dim;
    void* data = calloc((size_t)count, bytes_of(p->dtype));
    fa3_tensor t = fa3_contiguous(data, p->dtype, p->batch, sequence, heads, dim);
    CHECK(data != NULL);
    if (p->heads_first) {
        t.strides[1] = dim;
        t.strides[2] = sequence * dim;
    }
    for (i = 0; i < count; ++i) store(data, p->dtype, i, noise(state));
    return t;
}

static int64_t at(const fa3_tensor* t, int64_t b, int64_t s, int64_t h) {
    return b * t->strides[0] + s * t->strides[1] + h * t->strides[2];
}

static size_t tensor_bytes(const fa3_tensor* t) {
    return (size_t)(t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]) * bytes_of(t->dtype);
}

static size_t lse_bytes(const problem* p) {
    return (size_t)(p->batch * p->heads_q * p->sq) * sizeof(float);
}

/* Where a sequence lies. */
typedef struct {
    int64_t b, q0, ql, k0, kl;
} sequence;

static int64_t sequences(const problem* p) { return p->sequences == FA3_PACKED ? 3 : p->batch; }

static sequence span(const problem* p, int64_t n) {
    sequence s = {n, 0, p->sq, 0, p->sk};
    if (p->sequences == FA3_USED_KEYS) s.kl = USED_K[n];
    if (p->sequences == FA3_PACKED) {
        s.b = 0;
        s.q0 = CU_Q[n], s.ql = CU_Q[n + 1] - CU_Q[n];
        s.k0 = CU_K[n], s.kl = CU_K[n + 1] - CU_K[n];
    }
    return s;
}

/* One row of O by the definition; returns its log-sum-exp. */
static double row(const fa3_forward_args* a, sequence s, int64_t h, int64_t i, double* o) {
    int64_t j, c, d = a->q.shape[3], dv = a->v.shape[3], hk = h / (a->q.shape[2] / a->k.shape[2]);
    int64_t position = i + s.kl - s.ql;
    double sum = 0, scale = a->flags & FA3_SCALE ? a->scale : 1 / sqrt((double)d);
    memset(o, 0, (size_t)dv * sizeof *o);
    for (j = 0; j < s.kl; ++j) {
        double score = 0, weight;
        if ((a->flags & FA3_CAUSAL && j > position) ||
            (a->flags & FA3_WINDOW && ((a->window_left >= 0 && j < position - a->window_left) ||
                                       (a->window_right >= 0 && j > position + a->window_right))))
            continue;
        for (c = 0; c < d; ++c)
            score += load(a->q.data, a->q.dtype, at(&a->q, s.b, s.q0 + i, h) + c) *
                     load(a->k.data, a->k.dtype, at(&a->k, s.b, s.k0 + j, hk) + c);
        score *= scale;
        if (a->flags & FA3_SOFTCAP) score = a->softcap * tanh(score / a->softcap);
        if (a->alibi_slopes != NULL) score -= a->alibi_slopes[h] * fabs((double)(position - j));
        weight = exp(score);
        sum += weight;
        for (c = 0; c < dv; ++c)
            o[c] += weight * load(a->v.data, a->v.dtype, at(&a->v, s.b, s.k0 + j, hk) + c);
    }
    if (a->sinks != NULL) sum += exp(a->sinks[h]);
    for (c = 0; c < dv && sum > 0; ++c) o[c] /= sum;
    return log(sum);
}

/* What the device computed, on the host, against the definition. */
static void compare(const problem* p, const fa3_forward_args* a) {
    double expected[256], tolerance = p->dtype == FA3_F32 ? 1e-5 : 1.0 / 64;
    int64_t n, h, i, c;
    for (n = 0; n < sequences(p); ++n)
        for (h = 0; h < p->heads_q; ++h)
            for (i = 0; i < span(p, n).ql; ++i) {
                sequence s = span(p, n);
                double lse = row(a, s, h, i, expected);
                double found = a->lse[(s.b * p->heads_q + h) * p->sq + s.q0 + i];
                CHECK(lse == found || fabs(lse - found) < 1e-3);
                for (c = 0; c < p->dv; ++c)
                    CHECK(fabs(load(a->o.data, p->dtype, at(&a->o, s.b, s.q0 + i, h) + c) -
                               expected[c]) < tolerance);
            }
}

/* The call's operands on the host, O and the LSE too. */
static fa3_forward_args on_host(const problem* p) {
    static const float SINKS[] = {0.5f, -1, 2, 0}, SLOPES[] = {0.5f, 0.25f, 1, 0};
    uint32_t state = 1;
    int64_t b, s, c;
    fa3_forward_args args = {
        .struct_size = sizeof args, .flags = p->flags, .sequences = p->sequences};
    args.q = tensor(p, p->sq, p->heads_q, p->d, &state);
    args.k = tensor(p, p->sk, p->heads_k, p->d, &state);
    args.v = tensor(p, p->sk, p->heads_k, p->dv, &state);
    args.o = tensor(p, p->sq, p->heads_q, p->dv, &state);
    args.lse = calloc(1, lse_bytes(p));
    args.sinks = p->sinks ? SINKS : NULL;
    args.alibi_slopes = p->slopes ? SLOPES : NULL;
    args.window_left = p->left, args.window_right = p->right;
    args.scale = p->scale, args.softcap = p->softcap;
    if (p->sequences == FA3_USED_KEYS) {
        args.used_k = USED_K;
        /* What is not used may be anything: NaN here. */
        for (b = 0; b < p->batch; ++b)
            for (s = USED_K[b]; s < p->sk; ++s)
                for (c = 0; c < p->heads_k * p->d; ++c) {
                    store(args.k.data, p->dtype, at(&args.k, b, s, 0) + c, NAN);
                    store(args.v.data, p->dtype, at(&args.v, b, s, 0) + c, NAN);
                }
    }
    if (p->sequences == FA3_PACKED) {
        args.cu_q = CU_Q, args.cu_k = CU_K;
        args.count = 3, args.max_q = 4, args.max_k = 4;
    }
    return args;
}

/* The same call with its operands in the device's memory. */
static fa3_forward_args moved(const fa3_device* device, const problem* p,
                              const fa3_forward_args* host) {
    fa3_forward_args args = *host;
    size_t heads = (size_t)p->heads_q * sizeof(float);
    args.q.data = on_device(device, host->q.data, tensor_bytes(&host->q));
    args.k.data = on_device(device, host->k.data, tensor_bytes(&host->k));
    args.v.data = on_device(device, host->v.data, tensor_bytes(&host->v));
    args.o.data = on_device(device, host->o.data, tensor_bytes(&host->o));
    args.lse = on_device(device, host->lse, lse_bytes(p));
    args.sinks = host->sinks ? on_device(device, host->sinks, heads) : NULL;
    args.alibi_slopes = host->alibi_slopes ? on_device(device, host->alibi_slopes, heads) : NULL;
    args.used_k = host->used_k ? on_device(device, USED_K, sizeof USED_K) : NULL;
    args.cu_q = host->cu_q ? on_device(device, CU_Q, sizeof CU_Q) : NULL;
    args.cu_k = host->cu_k ? on_device(device, CU_K, sizeof CU_K) : NULL;
    return args;
}

/* Bound, in a workspace of the caller's, and run twice: the bits that `host` has. */
static void run_bound(const fa3_device* device, fa3_forward_args args,
                      const fa3_forward_args* host) {
    size_t bytes = tensor_bytes(&host->o);
    void* found = malloc(bytes);
    fa3_binding* binding = NULL;
    int i;
    CHECK(fa3_forward_workspace(device, &args, &args.workspace_bytes) == FA3_OK);
    CHECK(fa3_memory_allocate(device, args.workspace_bytes, &args.workspace) == FA3_OK);
    if (args.workspace_bytes > 0) {
        --args.workspace_bytes;
        REFUSED(fa3_forward_bind(device, &args, &binding), FA3_ERROR_WORKSPACE, "workspace");
        ++args.workspace_bytes;
    }
    CHECK(fa3_forward_bind(device, &args, &binding) == FA3_OK);
    CHECK(strlen(fa3_binding_plan(binding)) > 20);
    for (i = 0; i < 2; ++i) {
        memset(found, 0x55, bytes);
        CHECK(fa3_memory_upload(device, args.o.data, found, bytes, NULL) == FA3_OK);
        CHECK(fa3_binding_run(binding, NULL) == FA3_OK);
        CHECK(fa3_device_synchronize(device, NULL) == FA3_OK);
        CHECK(fa3_memory_download(device, found, args.o.data, bytes, NULL) == FA3_OK);
        CHECK(memcmp(found, host->o.data, bytes) == 0);
    }
    fa3_binding_free(binding);
    CHECK(fa3_memory_free(device, args.workspace) == FA3_OK);
    free(found);
}

/* Whether the device takes the problem; if so, it computes it rightly. */
static int run(const fa3_device* device, const problem* p) {
    fa3_forward_args host = on_host(p), args = moved(device, p, &host);
    fa3_status status = fa3_forward(device, &args, NULL);
    printf("%s: %s\n", p->name, status == FA3_OK ? "computed" : fa3_last_error());
    CHECK(status == FA3_OK || status == FA3_ERROR_UNSUPPORTED);
    if (status == FA3_OK) {
        CHECK(fa3_memory_download(device, host.o.data, args.o.data, tensor_bytes(&host.o), NULL) ==
              FA3_OK);
        CHECK(fa3_memory_download(device, host.lse, args.lse, lse_bytes(p), NULL) == FA3_OK);
        compare(p, &host);
        run_bound(device, args, &host);
    }
    {
        void* addresses[] = {args.q.data,
                             args.k.data,
                             args.v.data,
                             args.o.data,
                             args.lse,
                             (void*)args.sinks,
                             (void*)args.alibi_slopes,
                             (void*)args.used_k,
                             (void*)args.cu_q,
                             (void*)args.cu_k};
        size_t i;
        for (i = 0; i < sizeof addresses / sizeof *addresses; ++i)
            CHECK(fa3_memory_free(device, addresses[i]) == FA3_OK);
    }
    free(host.q.data), free(host.k.data), free(host.v.data), free(host.o.data), free(host.lse);
    return status == FA3_OK;
}

int main(int argc, char** argv) {
    fa3_device* device;
    int i, taken = 0;
    CHECK(argc == 3);
    device = open_device(argv[1]);
    printf("%s\n", fa3_device_description(device));
    for (i = 0; i < (int)(sizeof PROBLEMS / sizeof *PROBLEMS); ++i)
        taken += run(device, &PROBLEMS[i]);
    fa3_device_close(device);
    CHECK(taken >= atoi(argv[2]));
    return 0;
}
