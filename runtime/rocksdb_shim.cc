// rocksdb_shim.cc: see rocksdb_shim.h.
#include "rocksdb_shim.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <unistd.h>

#include <rocksdb/env.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/utilities/object_registry.h>

#include "process.h"

namespace
{
const char env_name[] = "pipe_quiet";
const char memtable_name[] = ROCKSDB_SHIM_VECTOR;

class Silent : public rocksdb::Logger
{
  public:
    using rocksdb::Logger::Logv;
    void LogHeader(const char *, va_list) override
    {
    }
    void Logv(const char *, va_list) override
    {
    }
    void Logv(const rocksdb::InfoLogLevel, const char *, va_list) override
    {
    }
};

class Quiet : public rocksdb::EnvWrapper
{
  public:
    Quiet() : rocksdb::EnvWrapper(rocksdb::Env::Default())
    {
    }
    const char *Name() const override
    {
        return env_name;
    }
    rocksdb::Status NewLogger(const std::string &,
                              std::shared_ptr<rocksdb::Logger> *logger) override
    {
        *logger = std::make_shared<Silent>();
        return rocksdb::Status::OK();
    }
};

rocksdb::Env *quiet_env(const std::string &, std::unique_ptr<rocksdb::Env> *, std::string *)
{
    static Quiet *env = new Quiet; // never freed: databases may be closed by exit handlers
    return env;
}

// The order of a memtable's keys: user keys by bytes, of equal ones the later first. RocksDB's own
// comparator finds the user's by a virtual call and counts each comparison for its statistics,
// which made up most of the time of sorting a save.
class KeyOrder : public rocksdb::MemTableRep::KeyComparator
{
  public:
    int operator()(const char *a, const char *b) const override
    {
        return compare(key_at(a), key_at(b));
    }
    int operator()(const char *a, const rocksdb::Slice &b) const override
    {
        return compare(key_at(a), b);
    }

  private:
    static constexpr size_t sequence_bytes = 8; // behind the user key: number, kind; little-endian

    static rocksdb::Slice key_at(const char *at)
    {
        uint8_t size = static_cast<uint8_t>(*at); // a varint
        return size < 0x80 ? rocksdb::Slice(at + 1, size) : rocksdb::GetLengthPrefixedSlice(at);
    }
    static uint64_t word(const char *at)
    {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        return word;
    }
    static int compare(const rocksdb::Slice &a, const rocksdb::Slice &b)
    {
        size_t a_bytes = a.size() - sequence_bytes, b_bytes = b.size() - sequence_bytes, i = 0;
        size_t common = a_bytes < b_bytes ? a_bytes : b_bytes;
        for (; i + 8 <= common; i += 8) {
            uint64_t x = word(a.data() + i), y = word(b.data() + i);
            if (x != y)
                return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
        }
        int order = memcmp(a.data() + i, b.data() + i, common - i);
        if (order != 0 || a_bytes != b_bytes)
            return order != 0 ? order : a_bytes < b_bytes ? -1 : 1;
        uint64_t x = word(a.data() + a_bytes), y = word(b.data() + b_bytes);
        return (x < y) - (x > y);
    }
};

// RocksDB's vector, sorted once when it is read, in that order.
class VectorFactory : public rocksdb::VectorRepFactory
{
  public:
    using rocksdb::VectorRepFactory::CreateMemTableRep;
    rocksdb::MemTableRep *CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator &,
                                            rocksdb::Allocator *allocator,
                                            const rocksdb::SliceTransform *transform,
                                            rocksdb::Logger *logger) override
    {
        static const KeyOrder order;
        return rocksdb::VectorRepFactory::CreateMemTableRep(order, allocator, transform, logger);
    }
};

rocksdb::MemTableRepFactory *vector_factory(const std::string &,
                                            std::unique_ptr<rocksdb::MemTableRepFactory> *owner,
                                            std::string *)
{
    owner->reset(new VectorFactory);
    return owner->get();
}

[[noreturn]] void refuse(int code, const char *what, const char *detail)
{
    pipe_end_alone();
    char line[512];
    int size = snprintf(line, sizeof line,
                        "%s (%.300s); raise the limits (ulimit -v, ulimit -u) or free some; "
                        "nothing that was committed is lost, start again\n",
                        what, detail);
    ssize_t unused = write(STDERR_FILENO, line, static_cast<size_t>(size));
    (void)unused;
    _exit(code);
}

[[noreturn]] void uncaught()
{
    const int limited = 1, internal = 4; /* PIPE_EXIT_DATA, PIPE_EXIT_INTERNAL */
    try {
        std::exception_ptr current = std::current_exception();
        if (current)
            std::rethrow_exception(current);
        refuse(internal, "internal error", "terminated without an exception");
    } catch (const std::bad_alloc &) {
        refuse(limited, "out of memory", "in RocksDB");
    } catch (const std::system_error &error) {
        refuse(limited, "a thread could not be started", error.what());
    } catch (const std::exception &error) {
        refuse(internal, "internal error in RocksDB", error.what());
    } catch (...) {
        refuse(internal, "internal error in RocksDB", "an unknown exception");
    }
}
} // namespace

rocksdb_options_t *rocksdb_shim_options(const char *text)
{
    static const bool registered = [] {
        rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::Env>(env_name, quiet_env);
        rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::MemTableRepFactory>(memtable_name,
                                                                                   vector_factory);
        return true;
    }();
    (void)registered;
    rocksdb_options_t *base = rocksdb_options_create();
    for (const char *part : {text, "env=pipe_quiet"}) {
        rocksdb_options_t *options = rocksdb_options_create();
        char *error = nullptr;
        rocksdb_get_options_from_string(base, part, options, &error);
        rocksdb_options_destroy(error != nullptr ? options : base);
        base = error != nullptr ? base : options;
        rocksdb_free(error); // a version that takes no env by name keeps its LOG files
    }
    return base;
}

void rocksdb_shim_catch(void)
{
    std::set_terminate(uncaught);
}
