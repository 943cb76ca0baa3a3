#!/usr/bin/env python3
"""Holds idle kept-alive connections to a server, and reports the anonymous memory that they take.

    idle_connections.py --port 8080 --pid 1234 [--connections 10000] [--path /healthz] [--wait]

Each connection first makes one request, so that it is kept alive. With --wait the program holds the connections after
the report until the input ends. Each connection then makes another request. All traffic stays on 127.0.0.1.
"""
import argparse
import resource
import socket
import sys
import time


def anonymous_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


def request(connection, path):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(65536)
        if not piece:
            raise SystemExit("the server closed a connection")
        answer += piece
    head, _, content = answer.partition(b"\r\n\r\n")
    length = int(
        next(line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    )
    while len(content) < length:
        content += connection.recv(65536)
    return int(answer.split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--path", default="/healthz")
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def connect():
        return socket.create_connection(("127.0.0.1", options.port), timeout=10)

    warm_up = [connect() for _ in range(200)]
    for connection in warm_up:
        request(connection, options.path)
        connection.close()
    time.sleep(1)
    before = anonymous_kib(options.pid)
    held = []
    for _ in range(options.connections):
        held.append(connect())
        request(held[-1], options.path)
    after = anonymous_kib(options.pid)
    start = time.monotonic()
    with connect() as another:
        status = request(another, options.path)
    print(f"{len(held)} idle connections: {before} KiB before, {after} KiB with them, "
          f"{(after - before) / len(held):.2f} KiB each; another request meanwhile: {status} "
          f"in {(time.monotonic() - start) * 1000:.1f} ms", flush=True)
    if options.wait:
        sys.stdin.read()
        alive = sum(request(connection, options.path) == 200 for connection in held)
        print(f"all {alive} responded again" if alive == len(held) else f"only {alive} responded again")


main()
