# syntax=docker/dockerfile:1
# The program and the libraries that it asks for, and nothing else. Build it in the repository's root: docker build -t pgsqlite .
# Make a user first: docker run --rm -it -v pgsqlite:/data pgsqlite user add --superuser NAME --database /data/main.db
# Then run it:       docker run --rm -p 5432:5432 -v pgsqlite:/data pgsqlite

FROM rust:1-bookworm AS build
COPY . /source
WORKDIR /source
RUN tools/libclang.sh
WORKDIR /source/pgsqlite
RUN cargo build --release --locked && strip target/release/pgsqlite
# what ldd names, and the folder of the data
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN mkdir -p /image/data /image/tmp /image/usr/bin /image/etc \
    && chmod 1777 /image/tmp && chown 65532:65532 /image/data \
    && ldd target/release/pgsqlite | grep -o '/[^ ]*' | while read -r library; do cp --parents -L "$library" /image; done \
    && cp target/release/pgsqlite /image/usr/bin/ \
    && echo 'pgsqlite:x:65532:65532::/data:/usr/bin/pgsqlite' > /image/etc/passwd

FROM scratch
COPY --from=build /image/ /
USER 65532:65532
VOLUME ["/data"]
EXPOSE 5432
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/pgsqlite"]
CMD ["--database", "/data/main.db", "--host", "0.0.0.0", "--auth", "scram"]
