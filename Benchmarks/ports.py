"""Ports for servers of tests and benchmarks."""
import random
import socket

# The system gives these to no connection, and to no server that takes any port: Linux does so from 32768 on. Browsers
# refuse 10080.
PORTS = range(11_000, 32_768)
reserved = []


def free_port():
    """A port that is free, and stays so until a server listens at it.

    No other process gets it from here or from `PostgresCluster` in Tests/TestSupport while this one runs: a socket in
    the system's abstract names says that it is taken, and goes with the process.
    """
    for port in random.sample(PORTS, len(PORTS)):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0latchkey-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        reserved.append(reservation)
        return port
    raise SystemExit("there is no free port")
