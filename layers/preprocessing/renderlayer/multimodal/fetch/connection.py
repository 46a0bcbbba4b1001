"""An HTTP connection to a given address, on which every read and write minds one deadline."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from renderlayer.multimodal.fetch.budget import Deadline


def open_connection(
    scheme: str, host: str, port: int, addresses: Sequence[str], deadline: Deadline
) -> http.client.HTTPConnection:
    """Connect to the first of `addresses` that answers, and speak to it as `host`.

    Raises:
        OSError: none answers, or its certificate is not that of `host`.
    """
    connection = http.client.HTTPConnection(host, port)
    sock = _connect(addresses, port, deadline)
    try:
        if scheme == "https":
            sock.settimeout(deadline.require())
            sock = _tls().wrap_socket(sock, server_hostname=host)
            connection.default_port = http.client.HTTPS_PORT
    except BaseException:
        sock.close()
        raise
    connection.sock = _Bounded(sock, deadline)
    return connection


def _connect(addresses: Sequence[str], port: int, deadline: Deadline) -> socket.socket:
    failure: OSError = OSError("no address")
    for text in addresses:
        try:
            return socket.create_connection((text, port), timeout=deadline.require())
        except OSError as error:
            failure = error
    raise failure


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class _Bounded:
    """The part of a socket that `http.client` uses; a peer that drips bytes cannot stretch the deadline.

    `http.client` closes its socket as soon as it has the head of an answer without a length, and reads on through the
    file: once there is a file, closing is up to it.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._handed_over = False

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.require())
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        self._handed_over = True
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        if not self._handed_over:
            self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.require())
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        self._sock.close()
        super().close()
