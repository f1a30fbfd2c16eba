// The API that every proxy of the benchmark stands in front of: one thread, one epoll set, so little
// work per request that the proxy is the bottleneck. It answers 401 unless the request carries
// exactly the credential that the proxies inject, as Bearer or, beside a proof that it does not verify,
// as DPoP; it is no general HTTP server.
//
//   origin TOKEN        prints the port that it listens on, then serves until it is killed
//
//   GET /stream/N       N bytes
//   PUT, POST           swallows a Content-Length body, answers how many bytes it was
//   anything else       a JSON document of 140 bytes

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES_MAX = 16 * 1024, CHUNK = 256 * 1024, EVENTS = 256 };

static const char document[] =
    "{\"id\":4711,\"login\":\"ada\",\"name\":\"Ada Lovelace\",\"email\":\"ada@example.com\","
    "\"plan\":\"engine\",\"notes\":\"this answer has one hundred forty bytes.\"}";
_Static_assert(sizeof(document) - 1 == 140, "the document has 140 bytes");

struct connection {
    int fd;
    size_t held;               // bytes in `head`
    uint64_t bodyLeft;         // of the request that is being swallowed
    uint64_t bodyBytes;        // its whole size
    int isSwallowing;
    uint64_t streamLeft;       // of the response that is being sent
    size_t pendingBytes;       // in `pending`, sent before the stream
    int closesWhenSent;
    int isWaitingToWrite;
    char pending[512];
    char head[HEAD_BYTES_MAX];
};

static char scratch[CHUNK];
static const char *credential, *bound;
static size_t credentialBytes, boundBytes;
static int poller;

static void stop(const char *what) {
    perror(what);
    exit(1);
}

static const char *dateField(void) {
    static char line[48];
    static time_t written;
    time_t now = time(NULL);
    if (now != written) {
        struct tm parts;
        strftime(line, sizeof line, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &parts));
        written = now;
    }
    return line;
}

// Sends what is pending, then the stream. Returns 0 when the connection is done for.
static int flush(struct connection *c) {
    while (c->pendingBytes > 0 || c->streamLeft > 0) {
        const char *from = c->pendingBytes > 0 ? c->pending : scratch;
        size_t count = c->pendingBytes;
        if (count == 0) count = c->streamLeft < CHUNK ? (size_t)c->streamLeft : CHUNK;
        int more = c->pendingBytes > 0 && c->streamLeft > 0 ? MSG_MORE : 0;
        ssize_t sent = send(c->fd, from, count, MSG_NOSIGNAL | more);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent < 0) return 0;
        if (c->pendingBytes > 0) {
            memmove(c->pending, c->pending + sent, c->pendingBytes - (size_t)sent);
            c->pendingBytes -= (size_t)sent;
        } else {
            c->streamLeft -= (uint64_t)sent;
        }
    }
    int waits = c->pendingBytes > 0 || c->streamLeft > 0;
    if (waits != c->isWaitingToWrite) {
        struct epoll_event event = {
            .events = waits ? EPOLLOUT : EPOLLIN | EPOLLRDHUP, .data.ptr = c};
        if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) != 0) stop("epoll_ctl");
        c->isWaitingToWrite = waits;
    }
    return waits || !c->closesWhenSent;
}

static void answer(struct connection *c, const char *status, const char *body, uint64_t bytes) {
    c->pendingBytes = (size_t)snprintf(
        c->pending, sizeof c->pending,
        "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %llu\r\n%s%s\r\n%s", status,
        (unsigned long long)bytes, dateField(), c->closesWhenSent ? "Connection: close\r\n" : "", body);
}

// The value of a field in a head that ends with an empty line, or NULL.
static const char *field(const char *head, const char *end, const char *name, size_t *bytes) {
    size_t length = strlen(name);
    for (const char *line = memchr(head, '\n', (size_t)(end - head)); line && line + 1 < end;
         line = memchr(line, '\n', (size_t)(end - line))) {
        line += 1;
        if ((size_t)(end - line) <= length || line[length] != ':') continue;
        if (strncasecmp(line, name, length) != 0) continue;
        const char *value = line + length + 1;
        while (*value == ' ') value += 1;
        *bytes = (size_t)((const char *)memchr(value, '\r', (size_t)(end - value)) - value);
        return value;
    }
    return NULL;
}

// Reads one request head of `bytes` bytes, its empty line included, and prepares the answer.
static void request(struct connection *c, const char *head, size_t bytes) {
    const char *end = head + bytes;
    size_t count = 0;
    const char *value = field(head, end, "connection", &count);
    c->closesWhenSent = value && count == 5 && strncasecmp(value, "close", 5) == 0;

    value = field(head, end, "authorization", &count);
    int isGood = value && count == credentialBytes && memcmp(value, credential, count) == 0;
    if (!isGood && value && count == boundBytes && memcmp(value, bound, count) == 0)
        isGood = field(head, end, "dpop", &count) && count > 200;
    if (!isGood) {
        c->closesWhenSent = 1;
        answer(c, "401 Unauthorized", "{}", 2);
        return;
    }
    if (*head == 'P') {
        value = field(head, end, "content-length", &count);
        if (!value) {
            c->closesWhenSent = 1;
            answer(c, "411 Length Required", "{}", 2);
            return;
        }
        c->isSwallowing = 1;
        c->bodyLeft = c->bodyBytes = strtoull(value, NULL, 10);
    } else if (strncmp(head, "GET /stream/", 12) == 0) {
        c->streamLeft = strtoull(head + 12, NULL, 10);
        answer(c, "200 OK", "", c->streamLeft);
    } else {
        answer(c, "200 OK", document, sizeof document - 1);
    }
}

static void swallowed(struct connection *c) {
    char body[64];
    int bytes = snprintf(
        body, sizeof body, "{\"received\":%llu}", (unsigned long long)c->bodyBytes);
    c->isSwallowing = 0;
    answer(c, "200 OK", body, (uint64_t)bytes);
}

// Works through what is held, one request after the other. Returns 0 to close.
static int advance(struct connection *c) {
    for (;;) {
        if (c->pendingBytes > 0 || c->streamLeft > 0) {
            if (!flush(c)) return 0;
            if (c->isWaitingToWrite) return 1;
        }
        if (c->isSwallowing) {
            size_t taken = c->held < c->bodyLeft ? c->held : (size_t)c->bodyLeft;
            memmove(c->head, c->head + taken, c->held - taken);
            c->held -= taken;
            c->bodyLeft -= taken;
            if (c->bodyLeft > 0) return 1;
            swallowed(c);
            continue;
        }
        const char *end = memmem(c->head, c->held, "\r\n\r\n", 4);
        if (!end) return c->held < HEAD_BYTES_MAX;
        size_t bytes = (size_t)(end + 4 - c->head);
        request(c, c->head, bytes);
        memmove(c->head, c->head + bytes, c->held - bytes);
        c->held -= bytes;
    }
}

static int readable(struct connection *c) {
    if (c->isSwallowing && c->held == 0 && c->bodyLeft > 0) {
        size_t most = c->bodyLeft < CHUNK ? (size_t)c->bodyLeft : CHUNK;
        ssize_t count = recv(c->fd, scratch, most, 0);
        if (count < 0 && errno == EAGAIN) return 1;
        if (count <= 0) return 0;
        c->bodyLeft -= (uint64_t)count;
        return advance(c);
    }
    ssize_t count = recv(c->fd, c->head + c->held, HEAD_BYTES_MAX - c->held, 0);
    if (count < 0 && errno == EAGAIN) return 1;
    if (count <= 0) return 0;
    c->held += (size_t)count;
    return advance(c);
}

static void accepted(int listener) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *c = calloc(1, sizeof *c);
        if (!c) stop("calloc");
        c->fd = fd;
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) stop("epoll_ctl");
    }
}

static int listening(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0) stop("bind");
    if (listen(listener, 4096) != 0) stop("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) stop("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: origin TOKEN\n");
        return 2;
    }
    static char line[256], boundLine[256];
    credentialBytes = (size_t)snprintf(line, sizeof line, "Bearer %s", arguments[1]);
    credential = line;
    boundBytes = (size_t)snprintf(boundLine, sizeof boundLine, "DPoP %s", arguments[1]);
    bound = boundLine;
    signal(SIGPIPE, SIG_IGN);

    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listening();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) stop("epoll_ctl");

    for (;;) {
        static struct epoll_event events[EVENTS];
        int ready = epoll_wait(poller, events, EVENTS, -1);
        if (ready < 0 && errno != EINTR) stop("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                accepted(listener);
                continue;
            }
            int lives = events[i].events & EPOLLOUT ? advance(c) : readable(c);
            if (!lives) {
                close(c->fd);
                free(c);
            }
        }
    }
}
