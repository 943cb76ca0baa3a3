# An image with the server and its runtime libraries, without a compiler.
#
#   docker build -t latchkey .
#   docker run -p 8080:8080 -v latchkey:/var/lib/latchkey --env-file latchkey.env --read-only --cap-drop ALL latchkey
#
# See docs/containers.md. `make image-check` follows this file without a container engine.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpq-dev libsqlite3-dev libssl-dev zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# A separate layer, so that a change of the sources does not fetch the dependencies again.
COPY Package.swift ./
RUN swift package resolve
COPY Sources Sources
COPY Tests Tests
COPY scripts/build-release scripts/hot-functions.txt scripts/
RUN scripts/build-release --product latchkey \
    && install -D --strip .build/release/latchkey /image/usr/local/bin/latchkey

FROM debian:bookworm-slim
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Latchkey" \
      org.opencontainers.image.description="Sign-in with mobile carriers: the service provider's backend" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates libpq5 libsqlite3-0 libssl3 libstdc++6 tzdata zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 latchkey \
    && useradd --system --uid 10001 --gid latchkey --home-dir /var/lib/latchkey --shell /usr/sbin/nologin latchkey \
    && install -d -o latchkey -g latchkey -m 0750 /var/lib/latchkey
COPY --from=build /image/ /
# Config/latchkey.yaml may be mounted here.
WORKDIR /opt/latchkey
COPY Public Public
COPY Config/latchkey.example.yaml Config/

# The loopback address of a container cannot be reached from outside.
ENV LATCHKEY_HTTP_HOST=0.0.0.0 \
    LATCHKEY_DATABASE_URL=sqlite:////var/lib/latchkey/latchkey.db
USER 10001:10001
VOLUME /var/lib/latchkey
EXPOSE 8080 8443
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD latchkey health "http://127.0.0.1:${LATCHKEY_HTTP_PORT:-8080}/healthz"
ENTRYPOINT ["latchkey"]
CMD ["serve"]
