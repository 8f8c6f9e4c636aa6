"""Batches on disk that survive a crash of the process.

The file has one JSON line for each batch, and one for each batch that is done. It is emptied when no batch waits. A file
belongs to the process that holds its lock; other processes with the same path use `path.1`, `path.2` and so on. A process
that starts takes over files without an owner. A machine that loses power may lose the last lines.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterator

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAX_OWNERS = 64
#: An emptied file is cut from this size on; below, lines of finished batches stay.
CUT_BYTES = 64 * 1024


@dataclass
class Spooled:
    session: str
    events: int
    body: bytes


class Spool:
    """@raises OSError where no file can be written."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._next = 1
        self._waiting: set[int] = set()
        self._size = 0
        self._file = -1
        self._adopted: list[tuple[int, str]] = []
        self._claim()

    def _claim(self) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        for number in range(MAX_OWNERS):
            file = _lock(self._path if number == 0 else f"{self._path}.{number}", create=True)
            if file is not None:
                self._file, self._number = file, number
                return
        raise OSError(f"{MAX_OWNERS} processes use {self._path}")

    def take_over(self) -> list[Spooled]:
        """The batches of earlier processes, oldest first. The caller adds them again."""
        found: list[Spooled] = []
        for number in range(MAX_OWNERS):
            path = self._path if number == 0 else f"{self._path}.{number}"
            if number == self._number:
                found += _read(self._file)
            elif os.path.exists(path):
                file = _lock(path, create=False)
                if file is None:
                    continue
                found += _read(file)
                self._adopted.append((file, path))
        return found

    def restart(self, batches: list[Spooled]) -> list[int]:
        """Writes the batches that were taken over, and deletes the files of others. Returns their numbers."""
        own = self._path if self._number == 0 else f"{self._path}.{self._number}"
        fresh = f"{own}.new"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for index, batch in enumerate(batches):
                file.write(_line(index + 1, batch))
        # Writing in place would lose batches if the process died meanwhile.
        taken = _lock(fresh, create=False)
        os.replace(fresh, own)
        os.close(self._file)
        self._file = taken if taken is not None else os.open(own, os.O_RDWR)
        os.lseek(self._file, 0, os.SEEK_END)
        self._size = os.fstat(self._file).st_size
        for other, path in self._adopted:
            os.unlink(path)
            os.close(other)
        self._adopted = []
        self._next = len(batches) + 1
        self._waiting = set(range(1, self._next))
        return list(range(1, self._next))

    def add(self, batch: Spooled) -> int:
        number, self._next = self._next, self._next + 1
        self._write(_line(number, batch))
        self._waiting.add(number)
        return number

    def done(self, number: int) -> None:
        self._waiting.discard(number)
        if not self._waiting and self._size >= CUT_BYTES:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._size = 0
        else:
            self._write(json.dumps({"done": number}).encode() + b"\n")

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._file, view) :]
        self._size += len(line)


def _line(number: int, batch: Spooled) -> bytes:
    record = {"batch": number, "session": batch.session, "events": batch.events, "body": batch.body.decode()}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _lock(path: str, create: bool) -> int | None:
    """The open file, or None where another process owns it or it does not exist."""
    try:
        # Conversations are personal data: only the owner may read them.
        file = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0), 0o600)
    except FileNotFoundError:
        return None
    if fcntl is None:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The former owner may have replaced or deleted the file between open and lock.
        if os.fstat(file).st_ino == os.stat(path).st_ino:
            return file
    except OSError:
        pass
    os.close(file)
    return None


def _read(file: int) -> list[Spooled]:
    os.lseek(file, 0, os.SEEK_SET)
    batches: dict[int, Spooled] = {}
    with os.fdopen(os.dup(file), "rb") as lines:
        for record in _records(lines):
            if "done" in record:
                batches.pop(record["done"], None)
            else:
                body = record["body"].encode()
                batches[record["batch"]] = Spooled(record["session"], record["events"], body)
    return list(batches.values())


def _records(lines: Any) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            record = json.loads(line)
            if isinstance(record, dict) and ("done" in record or {"batch", "session", "events", "body"} <= record.keys()):
                yield record
        except ValueError:
            continue  # A line that the crash cut.
