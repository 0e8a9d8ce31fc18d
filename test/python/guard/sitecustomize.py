"""Loaded by every Python of the suite: connections that would leave the machine
are refused, and named on stderr: a file would not outlive the sandbox of a replay."""

import os
import socket

LOOPBACK = ('127.', '::1', 'localhost')


def refuse(host):
    # Past sys.stderr, which programs replace.
    os.write(2, f'network guard: {host}\n'.encode())
    raise OSError(f'the network guard refused {host}')


def check(host):
    host = host.decode() if isinstance(host, bytes) else host
    if host and not str(host).startswith(LOOPBACK):
        refuse(host)


if 'NETWORK_GUARD' in os.environ:
    connect, connect_ex, getaddrinfo = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.getaddrinfo,
    )

    def guarded(original):
        def connected(self, address):
            if isinstance(address, tuple):
                check(address[0])
            return original(self, address)

        return connected

    def resolved(host, *args, **kwargs):
        check(host)
        return getaddrinfo(host, *args, **kwargs)

    socket.socket.connect = guarded(connect)
    socket.socket.connect_ex = guarded(connect_ex)
    socket.getaddrinfo = resolved
