"""A certificate within a picture: people see the picture, `hearth credit verify` reads what it carries.

It is a zTXt chunk of the PNG before its end (RFC 2083, section 4.2.7); programs that show pictures leave it alone.
"""

import struct
import zlib

START, END = b"\x89PNG\r\n\x1a\n", b"IEND"
KEYWORD = b"Hearth certificate\0\0"
"""With the mark of the end, and zlib's number."""
HEAD = struct.Struct(">I4s")
SUM = 4


def is_picture(content: bytes) -> bool:
    """Whether a file is a PNG."""
    return content.startswith(START)


def with_certificate(picture: bytes, certificate: bytes) -> bytes:
    """The picture that carries a certificate.

    Args:
        picture: a PNG.
        certificate: the file's content.
    """
    at = picture.rindex(END) - SUM
    data = KEYWORD + zlib.compress(certificate, 9)
    chunk = HEAD.pack(len(data), b"zTXt") + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    return picture[:at] + chunk + picture[at:]


def certificate_in(picture: bytes, most: int) -> bytes | None:
    """What a picture carries; None: no certificate, or one of more than `most` bytes, or a part of one.

    Args:
        picture: a PNG, or a part of one.
        most: bytes.
    """
    at = len(START)
    while at + HEAD.size <= len(picture):
        length, kind = HEAD.unpack_from(picture, at)
        data = picture[at + HEAD.size : at + HEAD.size + length]
        if kind == b"zTXt" and data.startswith(KEYWORD):
            reading = zlib.decompressobj()
            try:
                found = reading.decompress(data[len(KEYWORD) :], most)
            except zlib.error:
                return None
            return found if reading.eof else None
        at += HEAD.size + length + SUM
    return None
