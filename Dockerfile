# Builds the executable and puts it on a plain Debian with a Redis server and FFmpeg.
FROM oven/bun:1.4.5-debian AS build
WORKDIR /source
COPY . .
# Installs the dependencies of the service, not those of the tests.
RUN bun run build

# FFmpeg with the libraries that it links to. The Debian package also installs graphics drivers and a compiler for them. Only
# desktop players need these, and they are half of its size.
FROM debian:bookworm-slim AS ffmpeg
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ffmpeg \
 && ldd /usr/bin/ffmpeg /usr/bin/ffprobe | awk '$3 ~ /^\// { print $3 }' | sed 's|^/lib/|/usr/lib/|' | sort --unique \
  | grep --invert-match --extended-regexp '/(libc|libm|libdl|librt|libpthread)\.so' > /files \
 && mkdir /ffmpeg \
 && xargs cp --parents --dereference --target-directory /ffmpeg /usr/bin/ffmpeg /usr/bin/ffprobe < /files

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl redis-server tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && useradd --system --uid 10001 --user-group --create-home --home-dir /data earshot
COPY --from=ffmpeg /ffmpeg/ /
RUN ffmpeg -version > /dev/null && ffprobe -version > /dev/null
COPY --from=build /source/dist/earshot /usr/local/bin/earshot
USER earshot
WORKDIR /data
ENV DATA_DIR=/data PORT=3000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s \
  CMD curl --fail --silent --output /dev/null "http://localhost:${PORT}/health"
# Allow time for an orderly stop: docker run --stop-timeout 60
# tini reaps orphaned processes, such as killed programs, which would add up otherwise.
ENTRYPOINT ["tini", "--", "earshot"]
CMD ["serve"]
