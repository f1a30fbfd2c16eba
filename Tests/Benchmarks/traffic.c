// Long-lived connections for the benchmark, both ends of them: an origin that echoes what follows an
// upgrade and that sends events, and the clients that measure. One thread, one epoll set; messages are
// opaque bytes, since no proxy looks into them.
//
//   traffic serve TOKEN                  prints its port, then serves until it is killed
//   traffic echo PORT COUNT SECONDS      COUNT upgraded connections, one message under way on each;
//                                        prints how many came back
//   traffic events PORT COUNT SECONDS    COUNT event streams; prints how many events came

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 16 * 1024, EVENTS = 256, MESSAGE = 128, INTERVAL_MS = 200 };

// One event as a chunk: 64 bytes of data in its framing.
static const char event[] =
    "42\r\ndata: 0123456789012345678901234567890123456789012345678901234567\n\n\r\n";

struct connection {
    int fd;
    int isOpen;                // the head is done: everything else is traffic
    int isStream;
    size_t held;
    struct connection *next;   // of the event streams
    char buffer[BUFFER];
};

static int poller;
static struct connection *streams;
static uint64_t counted;

static void stop(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void watch(struct connection *c) {
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &wanted) != 0) stop("epoll_ctl");
}

static struct connection *new_connection(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) stop("calloc");
    c->fd = fd;
    return c;
}

static void drop(struct connection *c) {
    for (struct connection **link = &streams; *link != NULL; link = &(*link)->next) {
        if (*link == c) {
            *link = c->next;
            break;
        }
    }
    close(c->fd);
    free(c);
}

// Messages are far smaller than socket buffers: one that does not fit is a failed run.
static int send_all(int fd, const char *bytes, size_t count) {
    return send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

// The origin ----------------------------------------------------------------------------------------

static int answer(struct connection *c, const char *credential) {
    char *end = memmem(c->buffer, c->held, "\r\n\r\n", 4);
    if (end == NULL) return c->held < sizeof c->buffer;
    *end = 0;
    if (strcasestr(c->buffer, credential) == NULL) {
        static const char no[] = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        c->held = 0;
        return send_all(c->fd, no, sizeof no - 1);
    }
    if (strncmp(c->buffer, "GET /events", 11) == 0) {
        static const char head[] =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Transfer-Encoding: chunked\r\n\r\n";
        c->isOpen = c->isStream = 1;
        c->next = streams;
        streams = c;
        return send_all(c->fd, head, sizeof head - 1);
    }
    if (strcasestr(c->buffer, "\r\nupgrade: websocket") != NULL) {
        static const char head[] =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            // The answer to the one key that our clients send.
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        c->isOpen = 1;
        return send_all(c->fd, head, sizeof head - 1);
    }
    static const char document[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    c->held = 0;
    return send_all(c->fd, document, sizeof document - 1);
}

static int serve_bytes(struct connection *c, const char *credential) {
    size_t used = c->isOpen ? 0 : c->held;
    ssize_t count = recv(c->fd, c->buffer + used, sizeof c->buffer - 1 - used, 0);
    if (count <= 0) return 0;
    if (c->isOpen) return c->isStream || send_all(c->fd, c->buffer, (size_t)count);
    c->held += (size_t)count;
    return answer(c, credential);
}

static int listen_somewhere(void) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (void *)&address, size) != 0 || listen(fd, 4096) != 0) stop("listen");
    getsockname(fd, (void *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void serve(const char *token) {
    char credential[256];
    snprintf(credential, sizeof credential, "authorization: bearer %s", token);
    struct connection listener = {.fd = listen_somewhere()};
    struct connection clock = {.fd = timerfd_create(CLOCK_MONOTONIC, 0)};
    struct itimerspec interval = {
        .it_interval.tv_nsec = INTERVAL_MS * 1000000L, .it_value.tv_nsec = INTERVAL_MS * 1000000L};
    timerfd_settime(clock.fd, 0, &interval, NULL);
    watch(&listener);
    watch(&clock);
    struct epoll_event ready[EVENTS];
    for (;;) {
        int count = epoll_wait(poller, ready, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *c = ready[i].data.ptr;
            if (c == &listener) {
                int fd = accept(listener.fd, NULL, NULL);
                if (fd >= 0) watch(new_connection(fd));
            } else if (c == &clock) {
                uint64_t turns;
                if (read(clock.fd, &turns, sizeof turns) < 0) stop("read");
                for (struct connection *s = streams; s != NULL; s = s->next) {
                    send_all(s->fd, event, sizeof event - 1);
                }
            } else if (!serve_bytes(c, credential)) {
                drop(c);
            }
        }
    }
}

// The clients ---------------------------------------------------------------------------------------

static struct connection *open_client(int port, const char *request, const char *wanted) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof address) != 0) stop("connect");
    struct connection *c = new_connection(fd);
    if (!send_all(fd, request, strlen(request))) stop("send");
    char *end = NULL;
    while (end == NULL && c->held < sizeof c->buffer - 1) {
        ssize_t count = recv(fd, c->buffer + c->held, sizeof c->buffer - 1 - c->held, 0);
        if (count <= 0) stop("recv");
        c->held += (size_t)count;
        end = memmem(c->buffer, c->held, "\r\n\r\n", 4);
    }
    if (end == NULL || strncmp(c->buffer, wanted, strlen(wanted)) != 0) {
        fprintf(stderr, "traffic: unexpected answer: %.80s\n", c->buffer);
        exit(1);
    }
    c->held = 0;
    watch(c);
    return c;
}

/* Setting up is not what is measured. */
static void say_ready(void) {
    puts("ready");
    fflush(stdout);
}

static void run_echo(int port, int connections, double seconds) {
    char request[256], message[MESSAGE];
    memset(message, 'm', sizeof message);
    snprintf(
        request, sizeof request,
        "GET /echo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", port);
    struct connection **all = calloc((size_t)connections, sizeof *all);
    for (int i = 0; i < connections; i++) all[i] = open_client(port, request, "HTTP/1.1 101");
    say_ready();
    for (int i = 0; i < connections; i++) send_all(all[i]->fd, message, sizeof message);
    double until = now() + seconds;
    struct epoll_event ready[EVENTS];
    while (now() < until) {
        int count = epoll_wait(poller, ready, EVENTS, 100);
        for (int i = 0; i < count; i++) {
            struct connection *c = ready[i].data.ptr;
            ssize_t got = recv(c->fd, c->buffer, sizeof c->buffer, 0);
            if (got <= 0) stop("recv");
            c->held += (size_t)got;
            if (c->held < MESSAGE) continue;
            c->held -= MESSAGE;
            counted++;
            if (!send_all(c->fd, message, sizeof message)) stop("send");
        }
    }
}

static void run_events(int port, int connections, double seconds) {
    char request[128];
    snprintf(request, sizeof request, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    for (int i = 0; i < connections; i++) open_client(port, request, "HTTP/1.1 200");
    say_ready();
    double until = now() + seconds;
    uint64_t bytes = 0;
    struct epoll_event ready[EVENTS];
    while (now() < until) {
        int count = epoll_wait(poller, ready, EVENTS, 100);
        for (int i = 0; i < count; i++) {
            struct connection *c = ready[i].data.ptr;
            ssize_t got = recv(c->fd, c->buffer, sizeof c->buffer, 0);
            if (got <= 0) stop("recv");
            bytes += (uint64_t)got;
        }
    }
    counted = bytes / (sizeof event - 1);
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    poller = epoll_create1(0);
    if (count == 3 && strcmp(words[1], "serve") == 0) {
        serve(words[2]);
    } else if (count == 5 && strcmp(words[1], "echo") == 0) {
        run_echo(atoi(words[2]), atoi(words[3]), atof(words[4]));
    } else if (count == 5 && strcmp(words[1], "events") == 0) {
        run_events(atoi(words[2]), atoi(words[3]), atof(words[4]));
    } else {
        fprintf(stderr, "traffic: see the first lines of traffic.c\n");
        return 2;
    }
    printf("%llu\n", (unsigned long long)counted);
    return 0;
}
