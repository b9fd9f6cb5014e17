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
#include <rocksdb/utilities/object_registry.h>

namespace
{
const char env_name[] = "pipe_quiet";

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

void refuse(const char *what, const char *detail)
{
    char line[512];
    int size = snprintf(line, sizeof line,
                        "%s (%.300s); raise the limits (ulimit -v, ulimit -u) or free some; "
                        "nothing that was committed is lost, start again\n",
                        what, detail);
    ssize_t unused = write(STDERR_FILENO, line, static_cast<size_t>(size));
    (void)unused;
    _exit(4);
}

[[noreturn]] void uncaught()
{
    try {
        std::exception_ptr current = std::current_exception();
        if (current)
            std::rethrow_exception(current);
        refuse("internal error", "terminated without an exception");
    } catch (const std::bad_alloc &) {
        refuse("out of memory", "in RocksDB");
    } catch (const std::system_error &error) {
        refuse("a thread could not be started", error.what());
    } catch (const std::exception &error) {
        refuse("internal error in RocksDB", error.what());
    } catch (...) {
        refuse("internal error in RocksDB", "an unknown exception");
    }
    _exit(4);
}
} // namespace

rocksdb_options_t *rocksdb_shim_options(const char *text)
{
    static const bool registered = [] {
        rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::Env>(env_name, quiet_env);
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
