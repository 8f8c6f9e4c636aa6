"""Resumable uploads with tus 1.0. The offset of the service is what counts; after every failure the client asks for it."""

from __future__ import annotations

import os
import time
import urllib.parse
from typing import Any, BinaryIO, Callable

from . import _retry
from ._rest import Rest, quoted, with_retries
from ._sender import error_of
from ._transport import Address, Connection, TransportError
from .errors import EarshotError

RECORDINGS = "/v3/rest/recordings"
#: Bytes of one request. A lost connection costs at most this much.
PIECE_BYTES = 8 * 1024 * 1024
TUS = {"Tus-Resumable": "1.0.0"}
#: Called with the bytes that the service has, and the size of the file.
OnProgress = Callable[[int, int], None]


def upload(
    rest: Rest,
    file: str | os.PathLike[str],
    *,
    external_id: str | None = None,
    recording_id: str | None = None,
    on_progress: OnProgress | None = None,
) -> str:
    """Uploads a file into a recording, and returns the id of the recording once the service has every byte.

    A call with the same file and the same `external_id` or `recording_id` goes on where an interrupted one stopped.

    @raises EarshotError, OSError
    """
    path = os.fspath(file)
    size = os.path.getsize(path)
    recording = recording_id or _recording(rest, path, external_id)
    body = {"fileName": os.path.basename(path), "fileSize": size}
    created = rest.send("POST", f"{RECORDINGS}/{quoted(recording)}/uploads", body=body)
    with open(path, "rb") as source:
        _send(rest, created["uploadUrl"], source, size, created["timeoutSeconds"], on_progress or (lambda *_: None))
    return recording


def _recording(rest: Rest, path: str, external_id: str | None) -> str:
    body: dict[str, Any] = {"displayName": os.path.splitext(os.path.basename(path))[0][:255] or "upload"}
    if external_id is not None:
        body["record"] = {"externalId": external_id}
    try:
        id: str = rest.send("POST", RECORDINGS, body=body)["id"]
        return id
    except EarshotError as error:
        known = error.body.get("recordingId")
        if error.code == "recording_external_id_exists" and isinstance(known, str):
            return known
        raise


def _send(rest: Rest, url: str, source: BinaryIO, size: int, patience: float, on_progress: OnProgress) -> None:
    parts = urllib.parse.urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    connection = Connection(Address(f"{parts.scheme}://{parts.netloc}"))
    furthest, failures, moved = -1, 0, time.monotonic()
    while True:
        asked: float | None = None
        try:
            offset = _offset(connection, path, rest)
            while True:
                on_progress(offset, size)
                if offset > furthest:
                    furthest, failures, moved = offset, 0, time.monotonic()
                if offset >= size:
                    return connection.close()
                offset = _piece(connection, path, source, offset, rest)
        except TransportError as failure:
            error = EarshotError(f"the service did not answer: {failure}")
        except _Again as again:
            error, asked = again.error, again.seconds
        failures += 1
        if time.monotonic() - moved > patience:
            raise error
        time.sleep(_retry.backoff(failures) if asked is None else asked)


def _offset(connection: Connection, path: str, rest: Rest) -> int:
    answer = with_retries(lambda: connection.request("HEAD", path, TUS, None, rest.timeout), rest.attempts)
    return _number(answer.headers.get("upload-offset"))


def _piece(connection: Connection, path: str, source: BinaryIO, offset: int, rest: Rest) -> int:
    source.seek(offset)
    data = source.read(PIECE_BYTES)
    headers = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
    # A slow line gets a second for every 32 KiB.
    answer = connection.request("PATCH", path, headers, data, rest.timeout + len(data) / 32768)
    if 200 <= answer.status < 300:
        return _number(answer.headers.get("upload-offset"))
    # 409: another request sent some of these bytes. 423: it is still at it.
    if answer.status in (409, 423) or _retry.is_transient(answer.status, error_of(answer).code):
        raise _Again(error_of(answer), _retry.retry_after(answer.headers.get("retry-after"), time.time()))
    raise error_of(answer)


def _number(value: str | None) -> int:
    if value is None or not value.isdigit():
        raise EarshotError("the service did not state the offset of the upload; a proxy may have answered", code="not_tus")
    return int(value)


class _Again(Exception):
    def __init__(self, error: EarshotError, seconds: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.seconds = seconds
