# Builds the one executable, then puts it on a plain Debian with a Redis server beside it.
FROM oven/bun:1.4.5-debian AS build
WORKDIR /source
COPY . .
RUN bun install --frozen-lockfile && bun run build

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl ffmpeg redis-server tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --user-group --create-home --home-dir /data earshot
COPY --from=build /source/dist/earshot /usr/local/bin/earshot
USER earshot
WORKDIR /data
ENV DATA_DIR=/data PORT=3000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s --start-interval=1s \
  CMD curl --fail --silent --output /dev/null "http://localhost:${PORT}/health"
# Give it time to stop in order: docker run --stop-timeout 60
# The first process must wait for those that lost their parent, such as programs that were killed, or they add up.
ENTRYPOINT ["tini", "--", "earshot"]
CMD ["serve"]
