"""Whether fail_nth.c knows every call of the project that can fail in one of its ways."""

import re
import subprocess
from pathlib import Path

# What the project may call of libc that asks the kernel for something, or for memory.
FILE_CALLS = set(
    """
    access aligned_alloc asprintf bind calloc chdir chmod chown close connect copy_file_range
    creat dup dup2 fallocate fchmod fchown fclose fdatasync fdopen fflush fgetc fgets flock
    fopen fopencookie fork fprintf fputc fputs fread freopen fscanf fseek fseeko fstat fstatat
    fstatfs fsync ftell ftello ftruncate fts_open fts_read ftw fwrite getc getcwd getdelim
    getline getrandom getxattr glob link linkat listen lseek lstat malloc memalign mkdir mkdirat
    mkdtemp mkfifo mkostemp mkstemp mmap nftw open openat open_memstream opendir pipe pipe2 popen
    posix_fallocate posix_memalign posix_spawn posix_spawnp pread preadv printf putc putchar puts
    pwrite pwritev read readdir readlink readv realloc reallocarray realpath recv recvfrom recvmsg
    remove rename renameat renameat2 rmdir scandir send sendfile sendmsg sendto socket splice stat
    statfs statvfs statx strdup strndup symlink sync_file_range syncfs tmpfile truncate unlink
    unlinkat utimensat vasprintf vfprintf vprintf waitid waitpid write writev __uflow
""".split()
)


# Of libcurl: it has no memory for something, or tells how a request ended. What only asks it, or
# frees, does not fail.
HTTP_SURE = set(
    """
    curl_easy_cleanup curl_easy_getinfo curl_easy_strerror curl_multi_cleanup
    curl_multi_remove_handle curl_multi_strerror curl_slist_free_all curl_url_cleanup
""".split()
)


def symbols(paths, *options):
    command = ["nm", *options, *(str(path) for path in paths)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()}


def database_calls():
    """The functions of RocksDB's C interface with an error as an out-parameter."""
    header = Path("/usr/include/rocksdb/c.h").read_text()
    calls = re.findall(r"\b(rocksdb_\w+)\(([^;]*)\);", header)
    return {name for name, parameters in calls if "errptr" in parameters}


def unknown_calls(build, library):
    """Calls of the project that the library can't make fail."""
    archives = [build / "libpipe.a", build / "libpipec.a"]
    used = {re.sub(r"^__(\w+)_chk$", r"\1", name) for name in symbols(archives, "-u")}
    known = symbols([library], "-D", "--defined-only")
    http_calls = {name for name in used if name.startswith("curl_")} - HTTP_SURE
    return sorted(((used & (FILE_CALLS | database_calls())) | http_calls) - known)
