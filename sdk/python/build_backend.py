"""Builds the wheel and the source archive with the standard library alone (PEP 427, PEP 517, PEP 660)."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
#: A fixed time makes builds of the same files equal, byte by byte.
TIME = (2020, 1, 1, 0, 0, 0)


def _field(name: str) -> str:
    match = re.search(rf'^{name} = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert match is not None, f"pyproject.toml has no {name}"
    return match.group(1)


def _metadata() -> str:
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {_field('name')}\nVersion: {_field('version')}\nSummary: {_field('description')}\n"
        f"Requires-Python: {_field('requires-python')}\nLicense: Apache-2.0\n"
        "Classifier: Typing :: Typed\nDescription-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text("utf-8")
    )


def _name() -> str:
    return f"{_field('name')}-{_field('version')}"


def _write_wheel(folder: str, files: dict[str, bytes]) -> str:
    info = f"{_name()}.dist-info"
    wheel = "Wheel-Version: 1.0\nGenerator: build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**files, f"{info}/METADATA": _metadata().encode(), f"{info}/WHEEL": wheel.encode()}
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    file = f"{_name()}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return file


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    source = ROOT / "src"
    paths = [path for path in sorted((source / "earshot").rglob("*")) if path.suffix == ".py" or path.name == "py.typed"]
    return _write_wheel(wheel_directory, {path.relative_to(source).as_posix(): path.read_bytes() for path in paths})


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    return _write_wheel(wheel_directory, {"earshot.pth": f"{ROOT / 'src'}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    file = f"{_name()}.tar.gz"
    paths = [ROOT / "pyproject.toml", ROOT / "build_backend.py", ROOT / "README.md", *sorted((ROOT / "src").rglob("*"))]
    with tarfile.open(Path(sdist_directory) / file, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                archive.add(path, f"{_name()}/{path.relative_to(ROOT).as_posix()}")
        info = tarfile.TarInfo(f"{_name()}/PKG-INFO")
        data = _metadata().encode()
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file
