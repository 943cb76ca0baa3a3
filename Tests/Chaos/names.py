"""A DNS server that answers for one name, wrongly if it is told to: Tests/Chaos/network.py."""
import os
import socket
import socketserver
import struct
import threading
import time

A, AAAA = 1, 28
SERVFAIL, NXDOMAIN = 2, 3


class NameServer:
    """Answers over UDP and TCP on port 53 of an address.

    `mode` is one of `MODES`, or "addresses": then `addresses` are those of the name.
    """

    MODES = ("silent", "slow", "garbage", "wrong id", "truncated", "truncated for good", "no such name",
             "server failure", "alias of itself", "addresses")

    def __init__(self, address, name):
        self.name, self.mode, self.addresses, self.questions = name, "addresses", [], 0
        outer = self

        class Datagram(socketserver.BaseRequestHandler):
            def handle(self):
                data, sender = self.request
                answer = outer.answer(data, is_datagram=True)
                if answer is not None:
                    sender.sendto(answer, self.client_address)

        class Stream(socketserver.BaseRequestHandler):
            def handle(self):
                stream = self.request.makefile("rb")
                while outer.mode != "truncated for good" and len(size := stream.read(2)) == 2:
                    answer = outer.answer(stream.read(struct.unpack("!H", size)[0]), is_datagram=False)
                    if answer is not None:
                        self.request.sendall(struct.pack("!H", len(answer)) + answer)

        class Streams(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

        class Datagrams(socketserver.ThreadingUDPServer):
            daemon_threads = True

        for server in (Datagrams((address, 53), Datagram), Streams((address, 53), Stream)):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def set(self, mode, *addresses):
        self.mode, self.addresses = mode, list(addresses)

    def answer(self, question, is_datagram):
        self.questions += 1
        mode = self.mode
        if mode == "silent":
            return None
        if mode == "slow":
            time.sleep(0.7)
        if mode == "garbage":
            return question[:2] + os.urandom(64)
        identifier, end = question[:2], 12
        labels = []
        while question[end]:
            labels.append(question[end + 1:end + 1 + question[end]].decode("ascii", "replace").lower())
            end += 1 + question[end]
        kind = struct.unpack("!H", question[end + 1:end + 3])[0]
        asked = question[12:end + 5]
        if mode == "wrong id":
            identifier = bytes(byte ^ 0xFF for byte in identifier)
        is_known = ".".join(labels) == self.name
        code = {"no such name": NXDOMAIN, "server failure": SERVFAIL}.get(mode, 0 if is_known else NXDOMAIN)
        is_cut = is_datagram and mode.startswith("truncated")
        records = b""
        count = 0
        if code == 0 and not is_cut and kind == A and mode == "alias of itself":
            records, count = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 0, 2) + b"\xc0\x0c", 1
        elif code == 0 and not is_cut and kind == A:
            for address in self.addresses:
                records += b"\xc0\x0c" + struct.pack("!HHIH", A, 1, 0, 4) + socket.inet_aton(address)
                count += 1
        flags = 0x8580 | code | (0x0200 if is_cut else 0)
        return identifier + struct.pack("!HHHHH", flags, 1, count, 0, 0) + asked + records
