"""Where a server listens: flags, certificate, and sockets, bound before anything that takes long."""

from __future__ import annotations

import argparse
import errno
import socket
import ssl
from dataclasses import dataclass, field

from renderlayer.errors import ConfigurationError


@dataclass(frozen=True)
class Address:
    """Host, port (0: a free one), and uvicorn's options for HTTPS, if it is that."""

    host: str
    port: int
    tls: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Address:
        """The one of a command line.

        Raises:
            ConfigurationError: the certificate or its key cannot be used.
        """
        given = {name: getattr(arguments, name) for name in ("ssl_certfile", "ssl_keyfile")}
        if given["ssl_keyfile"] and not given["ssl_certfile"]:
            raise ConfigurationError("--ssl-keyfile needs --ssl-certfile")
        if given["ssl_certfile"]:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(given["ssl_certfile"], given["ssl_keyfile"])
            except OSError as error:  # of which ssl.SSLError is one
                raise ConfigurationError(f"--ssl-certfile and --ssl-keyfile: {_reason(error)}") from error
        return cls(arguments.host, arguments.port, {name: value for name, value in given.items() if value})

    def bound(self) -> list[socket.socket]:
        """A socket for each address of the host, all at the same port.

        Raises:
            ConfigurationError: the host has no address here, or the port cannot be had.
        """
        try:
            found = socket.getaddrinfo(self.host or None, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except (OSError, UnicodeError) as error:
            raise ConfigurationError(f"--host {self.host}: no such host ({_reason(error)})") from error
        sockets: list[socket.socket] = []
        try:
            for family, kind, protocol, _, address in dict.fromkeys(found):
                port = sockets[0].getsockname()[1] if sockets else self.port
                sockets.append(socket.socket(family, kind, protocol))
                _bind(sockets[-1], (address[0], port, *address[2:]))
        except OSError as error:
            for one in sockets:
                one.close()
            raise ConfigurationError(self._refused(error)) from error
        return sockets

    def _refused(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return f"port {self.port} of {self.host} is taken; choose another with --port"
        if error.errno == errno.EACCES:
            return f"port {self.port} is for administrators only; choose one above 1023 with --port"
        if error.errno == errno.EADDRNOTAVAIL:
            return f"--host {self.host}: this machine has no such address"
        return f"cannot listen on {self.host}, port {self.port}: {_reason(error)}"


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add `--host`, `--port` and the certificate."""
    to = parser.add_argument_group("address")
    to.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    to.add_argument("--port", type=port_number, default=8000, help="port; 0 takes a free one (default: %(default)s)")
    to.add_argument("--ssl-certfile", metavar="FILE", help="certificate chain; serves HTTPS")
    to.add_argument("--ssl-keyfile", metavar="FILE", help="its private key (default: in the file of the certificate)")


def port_number(text: str) -> int:
    """A port of the command line."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is none of 0 to 65535")
    return number


def _bind(one: socket.socket, address: tuple[object, ...]) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if one.family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    one.bind(address)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
