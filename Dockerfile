# Builds the executable and FFmpeg, and puts them on a plain Debian with a Redis server.
FROM oven/bun:1.4.5-debian AS build
WORKDIR /source
COPY . .
# Installs the dependencies of the service, not those of the tests.
RUN bun run build

# FFmpeg out of Debian's source, which has its security updates, with what the service lets a file use and nothing else: the decoders of
# src/calls/media/facts.rules.ts, the containers of src/calls/media/rules.ts, and what it writes itself. That is 10 MB instead of 190, and a hostile file
# meets far less code.
FROM debian:bookworm-slim AS ffmpeg
WORKDIR /source
RUN sed --in-place 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources \
  || sed --quiet 's/^deb /deb-src /p' /etc/apt/sources.list > /etc/apt/sources.list.d/source.list \
  ; apt-get update \
 && apt-get install --yes --no-install-recommends \
    dpkg-dev gcc libc6-dev libdav1d-dev libx264-dev make nasm pkg-config zlib1g-dev \
 && apt-get source ffmpeg \
 && mkdir --parents /ffmpeg/usr/share/doc/earshot/source \
 && cd /ffmpeg/usr/share/doc/earshot/source \
 && apt-get source --download-only ffmpeg x264
# FFmpeg with libx264 is under the GPL, so the image holds the source of both, and how they were built.
RUN cd ffmpeg-* \
 && ./configure --prefix=/usr --disable-everything --disable-autodetect --disable-network --disable-doc --disable-debug \
    --disable-ffplay --disable-avdevice --disable-postproc --disable-static --enable-shared \
    --enable-gpl --enable-libx264 --enable-libdav1d --enable-zlib --enable-protocol=file,pipe --enable-parsers --enable-bsfs \
    --enable-demuxer=mov,matroska,ogg,flac,wav,aac,mp3,mpegps,mpegvideo \
    --enable-decoder=h264,hevc,vp8,vp9,libdav1d,mpeg1video,mpeg2video,mpeg4,h263,theora,mjpeg,prores,dnxhd,dvvideo \
    --enable-decoder=aac,mp3,mp3float,mp2,mp2float,mp1,mp1float,opus,vorbis,flac,alac,ac3,eac3,amrnb,amrwb,speex \
    --enable-decoder=pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be \
    --enable-decoder=pcm_f32le,pcm_f32be,pcm_f64le,pcm_alaw,pcm_mulaw \
    --enable-decoder=adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,gsm,gsm_ms \
    --enable-decoder=movtext,text,subrip,srt,webvtt,ass,ssa,dvdsub,ccaption,png,bmp,gif,webp \
    --enable-encoder=libx264,aac,mjpeg,pcm_s16le --enable-muxer=mp4,ipod,webm,mp3,mjpeg,pcm_s16le,wav \
    --enable-filter=scale,select,yadif,format,fps,transpose,hflip,vflip,rotate,trim,setpts,null,copy \
    --enable-filter=aformat,aresample,amix,atrim,asetpts,anull,acopy \
 && make --jobs="$(nproc)" > /dev/null 2>&1 \
 && make install-progs DESTDIR=/ffmpeg > /dev/null

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl libdav1d6 libx264-164 redis-server tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
 && useradd --system --uid 10001 --user-group --create-home --home-dir /data earshot
COPY --from=ffmpeg /ffmpeg/ /
RUN ffmpeg -hide_banner -buildconf > /usr/share/doc/earshot/source/configure.txt && ffprobe -version > /dev/null
COPY --from=build /source/LICENSE /source/NOTICE /source/THIRD_PARTY_NOTICES.txt /usr/share/doc/earshot/
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
