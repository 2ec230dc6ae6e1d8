/* threads: many threads at once, on devices and bindings of their own and on shared ones. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 50, QUERIES = 33, KEYS = 40 };

static fa3_device* shared_device;
static fa3_binding* shared_binding;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static float shared_o[QUERIES];

typedef struct {
    float q[QUERIES], k[KEYS], v[KEYS], o[QUERIES];
} tensors;

/* Keys of equal score: O is the mean of V, which is `value`. */
static fa3_forward_args attention(tensors* t, float* o, float value) {
    fa3_forward_args args = {.struct_size = sizeof args};
    int j;
    for (j = 0; j < KEYS; ++j) t->k[j] = 1, t->v[j] = value + (j % 2 ? 1 : -1);
    args.q = fa3_contiguous(t->q, FA3_F32, 1, QUERIES, 1, 1);
    args.k = fa3_contiguous(t->k, FA3_F32, 1, KEYS, 1, 1);
    args.v = fa3_contiguous(t->v, FA3_F32, 1, KEYS, 1, 1);
    args.o = fa3_contiguous(o, FA3_F32, 1, QUERIES, 1, 1);
    return args;
}

static void check_values(const float* o, float value) {
    int i;
    for (i = 0; i < QUERIES; ++i) CHECK(o[i] > value - 1e-3f && o[i] < value + 1e-3f);
}

static void* work(void* argument) {
    int number = *(int*)argument, round;
    char name[32];
    fa3_device* own = open_device("cpu");
    static const tensors ZERO;
    tensors t = ZERO;
    fa3_forward_args args = attention(&t, t.o, (float)number);
    fa3_binding* binding = NULL;
    CHECK(fa3_forward_bind(shared_device, &args, &binding) == FA3_OK);
    for (round = 0; round < ROUNDS; ++round) {
        fa3_device* none = NULL;
        /* Messages are the thread's own. */
        snprintf(name, sizeof name, "device %d-%d", number, round);
        REFUSED(fa3_device_open(name, &none), FA3_ERROR_ARGUMENT, name);

        memset(t.o, 0, sizeof t.o);
        CHECK(fa3_forward(round % 2 ? own : shared_device, &args, NULL) == FA3_OK);
        check_values(t.o, (float)number);
        memset(t.o, 0, sizeof t.o);
        CHECK(fa3_binding_run(binding, NULL) == FA3_OK);
        check_values(t.o, (float)number);

        /* A shared binding has one output, which its users take in turns. */
        pthread_mutex_lock(&one_at_a_time);
        memset(shared_o, 0, sizeof shared_o);
        CHECK(fa3_binding_run(shared_binding, NULL) == FA3_OK);
        check_values(shared_o, 100);
        pthread_mutex_unlock(&one_at_a_time);
        CHECK(strlen(fa3_binding_plan(shared_binding)) > 0);
        CHECK(strstr(fa3_last_error(), name) != NULL);
    }
    fa3_binding_free(binding);
    fa3_device_close(own);
    return NULL;
}

int main(void) {
    static tensors t;
    pthread_t threads[THREADS];
    int numbers[THREADS], i;
    fa3_forward_args args = attention(&t, shared_o, 100);
    shared_device = open_device("cpu");
    CHECK(fa3_forward_bind(shared_device, &args, &shared_binding) == FA3_OK);
    for (i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    /* The bindings outlive the handle of their device. */
    for (i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    fa3_device_close(shared_device);
    CHECK(fa3_binding_run(shared_binding, NULL) == FA3_OK);
    fa3_binding_free(shared_binding);
    CHECK(strcmp(fa3_last_error(), "") == 0);
    return 0;
}
