/*
 * metrics_listen.c: --listen ADDRESS:PORT, and its socket. Addresses are literal: no name is looked
 * up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics_internal.h"

#define BACKLOG 16

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* 127.0.0.1:9464 or [::1]:9464. */
static bool parse(const char *text, union address *out, socklen_t *size)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    int64_t port;
    if (length == 0 || length >= sizeof host || !pipe_parse_count(colon + 1, 0, 65535, &port))
        return false;
    memset(out, 0, sizeof *out);
    bool brackets = text[0] == '[' && text[length - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? length - 2 : length),
             brackets ? text + 1 : text);
    if (brackets && inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof out->v6;
        return true;
    }
    if (brackets || inet_pton(AF_INET, host, &out->v4.sin_addr) != 1)
        return false;
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    *size = sizeof out->v4;
    return true;
}

static bool is_loopback(const union address *address)
{
    return address->any.sa_family == AF_INET ? ntohl(address->v4.sin_addr.s_addr) >> 24 == 127
                                             : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) != 0;
}

static void print_address(const union address *address, char *to, size_t to_bytes)
{
    char host[INET6_ADDRSTRLEN] = "";
    bool v4 = address->any.sa_family == AF_INET;
    inet_ntop(address->any.sa_family,
              v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr, host, sizeof host);
    snprintf(to, to_bytes, v4 ? "%s:%u" : "[%s]:%u", host,
             (unsigned)ntohs(v4 ? address->v4.sin_port : address->v6.sin6_port));
}

const char *metrics_take_listen(void *run_options, const char *value)
{
    union address address;
    socklen_t size;
    ((struct pipe_run_options *)run_options)->listen = value;
    return strcmp(value, "none") == 0 || parse(value, &address, &size)
               ? NULL
               : "expected ADDRESS:PORT, for example 127.0.0.1:9464, [::1]:9464 or, for any free "
                 "port, 127.0.0.1:0; or none";
}

int metrics_listen(const char *where, char *bound, size_t bound_bytes, char *error,
                   size_t error_bytes)
{
    union address address;
    socklen_t size;
    const int on = 1;
    if (!parse(where, &address, &size)) {
        snprintf(error, error_bytes, "%.80s is no address", where);
        return -1;
    }
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* An earlier run's connections may linger; a listener that lives still refuses the bind. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, &address.any, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, &address.any, &size) != 0) {
        bool in_use = errno == EADDRINUSE;
        snprintf(error, error_bytes, "%.80s %s%s", where,
                 in_use ? "is in use by another program; give another port, or none"
                        : "can't be listened at: ",
                 in_use ? "" : strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    print_address(&address, bound, bound_bytes);
    if (!is_loopback(&address))
        pipe_message(PIPE_WARNING, "metrics are open to whoever reaches this address", "address=%s",
                     bound);
    return fd;
}
