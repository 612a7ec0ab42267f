# Two stages: build with the Rust toolchain, run without it, as a user without rights.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /eddy
COPY . .
RUN cargo build --release --locked --bin eddy

FROM debian:bookworm-slim
# The authorities that webhooks and OTLP backends show certificates of.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /eddy/target/release/eddy /usr/local/bin/eddy
COPY config/docker.yaml /etc/eddy/eddy.yaml
RUN mkdir /var/lib/eddy && chown 65532:65532 /var/lib/eddy
USER 65532:65532
VOLUME /var/lib/eddy
# OTLP over gRPC; OTLP over HTTP; the API (gRPC and JSON over HTTP).
EXPOSE 4317 4318 4319
ENTRYPOINT ["eddy"]
CMD ["serve", "--config", "/etc/eddy/eddy.yaml"]
