/* What the C programs of the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <fa3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program unless the condition holds. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: not true: %s\nthe last error: %s\n", __FILE__, __LINE__, \
                    #condition, fa3_last_error());                                           \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Ends the program unless the call fails with this status and a message that contains the text. */
#define REFUSED(call, status, text)                                                                \
    do {                                                                                           \
        fa3_status found_ = (call);                                                                \
        if (found_ != (status) || strstr(fa3_last_error(), (text)) == NULL) {                      \
            fprintf(stderr, "%s:%d: %s gave %s, not %s with `%s`\nthe last error: %s\n", __FILE__, \
                    __LINE__, #call, fa3_status_name(found_), #status, (text), fa3_last_error());  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline fa3_device* open_device(const char* name) {
    fa3_device* device = NULL;
    CHECK(fa3_device_open(name, &device) == FA3_OK);
    return device;
}

/* A copy of host bytes in the device's memory. */
static inline void* on_device(const fa3_device* device, const void* data, size_t bytes) {
    void* address = NULL;
    CHECK(fa3_memory_allocate(device, bytes, &address) == FA3_OK);
    CHECK(fa3_memory_upload(device, address, data, bytes, NULL) == FA3_OK);
    return address;
}

#endif
