// process_memory.cc: pipe_watch_memory (process.h).
#include "process.h"

#include <cstdlib>
#include <jansson.h>
#include <new>
#include <openssl/crypto.h>

namespace
{
pipe_no_memory *no_memory; // written once, before there are threads

void *checked(void *memory, size_t size_bytes)
{
    if (memory == nullptr && size_bytes > 0)
        no_memory();
    return memory;
}

void *json_memory(size_t size_bytes)
{
    return checked(std::malloc(size_bytes), size_bytes);
}

void *crypto_memory(size_t size_bytes, const char *, int)
{
    return checked(std::malloc(size_bytes), size_bytes);
}

void *crypto_resize(void *memory, size_t size_bytes, const char *, int)
{
    if (size_bytes == 0) {
        std::free(memory);
        return nullptr;
    }
    return checked(std::realloc(memory, size_bytes), size_bytes);
}

void crypto_free(void *memory, const char *, int)
{
    std::free(memory);
}
} // namespace

void pipe_watch_memory(pipe_no_memory *stop)
{
    no_memory = stop;
    std::set_new_handler(stop);
    json_set_alloc_funcs(json_memory, std::free);
    CRYPTO_set_mem_functions(crypto_memory, crypto_resize, crypto_free);
}
