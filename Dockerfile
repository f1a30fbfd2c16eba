# The image has the program, the libraries that it loads and the certificates that it trusts: no shell,
# no package manager, nobody's home. It runs as any user id, with a root file system that is read-only.
#
#   docker build --tag credential-proxy .
#   docker run --read-only --volume ./proxy.yaml:/etc/credential-proxy/config.yaml:ro \
#       --volume state:/state --network container:app credential-proxy

ARG SWIFT=docker.io/library/swift:6.2-bookworm

FROM ${SWIFT} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends pkg-config make binutils curl openssl ca-certificates \
        libssl-dev libnghttp2-dev libcurl4-openssl-dev libuv1-dev libyaml-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift Makefile ./
COPY .ci .ci
COPY Sources Sources
# The manifest names the folders of all tests; an optimized build of the program reads none.
COPY Tests/Support Tests/Support
ENV TESTS=""
RUN make build
RUN .ci/image-files .build/proxy /image

FROM scratch
COPY --from=build /image /
# Logins are in /state/credential-proxy, which whoever runs it makes for itself.
ENV XDG_STATE_HOME=/state HOME=/
VOLUME /state
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/usr/bin/proxy", "health"]
ENTRYPOINT ["/usr/bin/proxy"]
CMD ["serve"]
