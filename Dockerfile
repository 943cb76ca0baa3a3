# An image with the server, its shared libraries and nothing else: no shell, no compiler.
#
#   docker build -t latchkey:0.1.0 --build-arg REVISION=$(git rev-parse HEAD) .
#   docker run -p 8080:8080 -v latchkey:/var/lib/latchkey --env-file latchkey.env --read-only --cap-drop ALL \
#     latchkey:0.1.0
#
# See docs/operations.md#containers-and-services. `make image-check` follows this file without a container engine.

# As in Sources/LatchkeyService/LatchkeyVersion.swift; the build fails if the program says otherwise.
ARG VERSION=0.1.0

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libidn2-dev libpq-dev libsqlite3-dev libssl-dev libyaml-dev zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# A separate layer, so that a change of the sources does not fetch the dependencies again.
COPY Package.swift ./
RUN swift package resolve
COPY Clients Clients
COPY Sources Sources
COPY Public Public
COPY Tests Tests
COPY scripts/build-release scripts/image-licences scripts/program.ld scripts/
ARG REVISION=unknown
RUN LATCHKEY_REVISION=$REVISION scripts/build-release --product latchkey \
    && install -D --strip .build/release/latchkey /image/usr/local/bin/latchkey \
    && scripts/image-licences /image/usr/share/doc/latchkey

# The libraries, with Debian's security updates at the time of the build.
FROM debian:bookworm-slim AS libraries
ARG VERSION
RUN apt-get update \
    && apt-get upgrade -y \
    && apt-get install -y --no-install-recommends \
        ca-certificates libidn2-0 libpq5 libsqlite3-0 libssl3 libstdc++6 libyaml-0-2 zlib1g
COPY --from=build /image/usr/local/bin/ /usr/local/bin/
COPY scripts/image-root /usr/local/bin/
RUN latchkey --version | grep -q "^$VERSION (" \
    && image-root /image /usr/local/bin/latchkey \
    && install -d -m 0750 /data/latchkey

FROM scratch
ARG VERSION
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Latchkey" \
      org.opencontainers.image.description="Sign-in with mobile carriers and other providers: a service's backend" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=libraries /image/ /
COPY --from=libraries --chown=10001:10001 /data/ /var/lib/
COPY --from=build /image/ /
# Config/latchkey.yaml may be mounted here.
WORKDIR /opt/latchkey
COPY Config/latchkey.example.yaml Config/

# The loopback address of a container cannot be reached from outside. All addresses, of IPv4, too.
ENV PATH=/usr/local/bin \
    LATCHKEY_HTTP_HOST=:: \
    LATCHKEY_DATABASE_URL=sqlite:////var/lib/latchkey/latchkey.db
USER 10001:10001
VOLUME /var/lib/latchkey
EXPOSE 8080 8443
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["latchkey", "health"]
ENTRYPOINT ["latchkey"]
CMD ["serve"]
