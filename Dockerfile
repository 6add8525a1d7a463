# The table server, `statveil serve`, in a container that holds no data and no key: both come as volumes.
#
#   docker build --tag statveil .
#
# A look at it, with invented enterprises, at http://127.0.0.1:8420:
#
#   docker run --rm --init --publish 127.0.0.1:8420:8420 statveil --demo --host 0.0.0.0 --allow-plain-http
#
# With your own data there are four folders. The server runs as user 10001, to whom /key and /state belong.
#
#   /config   server.toml. Read only.
#   /data     records and trees. Read only.
#   /key      the secret key, mode 0600, and its counter, which is written: no read-only secret. Back it up apart from /state.
#   /state    store, audit log, API keys, jobs and metrics.
#
# In server.toml:
#
#   [key]
#   file = "/key/secret.key"
#   [store]
#   file = "/state/store.sqlite"        # or: url = "postgresql://..."
#   [web]
#   state = "/state"
#   [[dataset]]
#   file = "/data/enterprises.parquet"  # and all that docs/server.md tells of a dataset
#
# Once, a secret key; and an API key, shown this once:
#
#   docker run --rm --volume statveil-key:/key statveil --new-key /key/secret.key
#   docker run --rm --volume ./config:/config:ro --volume statveil-state:/state --entrypoint statveil statveil \
#     serve keys add /config/server.toml --name "Statistics desk" --role officer
#
# The server listens on all addresses of its container. It refuses to do so without TLS, so give it one of two:
#
# TLS of its own: tls_certificate = "/tls/certificate.pem" and tls_key = "/tls/key.pem" under [web], files that user 10001 may read.
#
#   docker run --detach --init --stop-timeout 30 --publish 8420:8420 --volume ./config:/config:ro --volume ./data:/data:ro \
#     --volume ./tls:/tls:ro --volume statveil-key:/key --volume statveil-state:/state statveil
#
# A proxy that speaks TLS, on a network that it shares with this container alone, and no published port; the proxy's address goes
# into `proxies` under [web]:
#
#   docker run --detach --init --stop-timeout 30 --network inner --volume ./config:/config:ro --volume ./data:/data:ro \
#     --volume statveil-key:/key --volume statveil-state:/state statveil /config/server.toml --host 0.0.0.0 --allow-plain-http
#
# Named volumes get their owner from the image; a folder of the host must be given to the user first: chown 10001 FOLDER.
# --init buries processes whose parent was killed; --stop-timeout lets answers under way end. /healthz and /readyz need no key.

FROM python:3.11-slim

RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin statveil \
 && install --directory --owner statveil --group statveil --mode 0700 /key /state \
 && install --directory /config /data

WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY benchmarks/statveil_lab benchmarks/statveil_lab
RUN pip install --no-cache-dir '.[server,postgres]' && rm -rf /build/*

# The user may write neither the package nor a home: what is compiled at the first start is kept here.
ENV NUMBA_CACHE_DIR=/tmp/numba

USER 10001:10001
WORKDIR /
VOLUME ["/key", "/state"]
EXPOSE 8420
ENTRYPOINT ["statveil", "serve"]
CMD ["/config/server.toml", "--host", "0.0.0.0"]
