"""Two network namespaces and the wire between them, which loses, delays, repeats, reorders and forgets.

The kernel of a machine may lack `netem`; a TUN device is enough here. Both namespaces have one, and a process carries
the IP packets between them, so that TCP and the resolver on both sides are the system's own.
"""
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN_WITHOUT_HEADER = 0x1001
TCP = 6

libc = ctypes.CDLL(None, use_errno=True)


def tun(name):
    """Makes a TUN device in the calling thread's namespace; the descriptor's packets stay those of this device."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_WITHOUT_HEADER))
    return descriptor


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Wire:
    """Joins the calling process's namespace, which has the peers, with a new one, which has the server.

    Each peer has an address of its own, by which the faults of the server's connections to it are set:

    - `loss`, `repeat`: the share of packets that are dropped, or carried twice;
    - `delay`, `jitter`: seconds; packets whose jitter differs overtake each other;
    - `cut`: "both", "from" (what comes from the peer) or "to": nothing is carried.
    """

    SERVER = "10.99.0.1"

    def __init__(self, peers):
        """Takes the peers' addresses by name. The first peer's is the source of connections to the server."""
        self.peers = peers
        ip("link", "set", "lo", "up")
        here = tun("wire")
        for address in peers.values():
            ip("address", "add", f"{address}/32", "dev", "wire")
        ip("link", "set", "wire", "up")
        ip("route", "add", f"{self.SERVER}/32", "dev", "wire", "src", next(iter(peers.values())))
        there = []
        thread = threading.Thread(target=lambda: there.extend(self._make_server_side()))
        thread.start()
        thread.join()
        other, self.namespace = there
        self.control, control = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                self.control.close()
                Carrier(here, other, control, {socket.inet_aton(peer): name for name, peer in peers.items()}).run()
            finally:
                os._exit(1)
        control.close()
        os.close(here)
        os.close(other)
        self.answers = self.control.makefile("r")

    def _make_server_side(self):
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        device = tun("wire")
        ip("link", "set", "lo", "up")
        ip("address", "add", f"{self.SERVER}/32", "dev", "wire")
        ip("link", "set", "wire", "up")
        for address in self.peers.values():
            ip("route", "add", f"{address}/32", "dev", "wire")
        return device, os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @property
    def server_side(self):
        """The words before a command that is to run in the server's namespace."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.namespace}"]

    def _ask(self, **question):
        self.control.sendall((json.dumps(question) + "\n").encode())
        return json.loads(self.answers.readline())

    def set(self, peer, **faults):
        """Gives the connections to a peer these faults, and ends all others."""
        self._ask(peer=peer, faults=faults)

    def forget(self, peer):
        """Carries nothing more of the present connections to a peer, as a firewall does that has forgotten them."""
        self._ask(peer=peer, forget=True)

    def counts(self):
        """How many packets were carried, and how many were not."""
        return self._ask()

    def end(self):
        self.control.shutdown(socket.SHUT_RDWR)
        os.waitpid(self.pid, 0)


class Carrier:
    """Carries the packets, in a process of its own."""

    def __init__(self, here, there, control, names):
        self.here, self.there, self.control, self.names = here, there, control, names
        self.faults = {name: {} for name in names.values()}
        self.flows = {name: set() for name in names.values()}
        self.forgotten, self.waiting, self.number = set(), [], 0
        self.carried = self.dropped = 0

    def run(self):
        poll, text = select.poll(), b""
        for descriptor in (self.here, self.there, self.control.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            left = max(0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            for descriptor, _ in poll.poll(None if left is None else left * 1000):
                if descriptor == self.control.fileno():
                    received = self.control.recv(4096)
                    if not received:
                        return
                    *questions, text = (text + received).split(b"\n")
                    for question in questions:
                        self.control.sendall((json.dumps(self.answer(json.loads(question))) + "\n").encode())
                else:
                    self.read(descriptor)
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, descriptor, packet = heapq.heappop(self.waiting)
                self.write(descriptor, packet)

    def answer(self, question):
        if "faults" in question:
            self.faults[question["peer"]] = question["faults"]
        if "forget" in question:
            self.forgotten |= self.flows[question["peer"]]
        return {"carried": self.carried, "dropped": self.dropped}

    def read(self, descriptor):
        for _ in range(64):
            try:
                packet = os.read(descriptor, 65536)
            except BlockingIOError:
                return
            self.take(descriptor, packet)

    def take(self, descriptor, packet):
        is_from = descriptor == self.here
        name = self.names.get(packet[12:16] if is_from else packet[16:20])
        # What is no IPv4, such as the solicitation of IPv6 routers, has no peer.
        if packet[0] >> 4 != 4 or name is None:
            return
        faults, flow = self.faults[name], self.flow(packet, is_from)
        if flow:
            self.flows[name].add(flow)
        cut = faults.get("cut")
        if (flow in self.forgotten or cut == "both" or cut == ("from" if is_from else "to")
                or random.random() < faults.get("loss", 0)):
            self.dropped += 1
            return
        for _ in range(2 if random.random() < faults.get("repeat", 0) else 1):
            delay = faults.get("delay", 0) + random.uniform(-1, 1) * faults.get("jitter", 0)
            if delay > 0:
                self.number += 1
                heapq.heappush(
                    self.waiting,
                    (time.monotonic() + delay, self.number, self.there if is_from else self.here, packet))
            else:
                self.write(self.there if is_from else self.here, packet)

    @staticmethod
    def flow(packet, is_from):
        """The two ends of a connection; None for what is not TCP."""
        if packet[9] != TCP:
            return None
        start = (packet[0] & 15) * 4
        source, target = (packet[12:16], packet[start:start + 2]), (packet[16:20], packet[start + 2:start + 4])
        return source + target if is_from else target + source

    def write(self, descriptor, packet):
        try:
            os.write(descriptor, packet)
            self.carried += 1
        except OSError:
            self.dropped += 1
