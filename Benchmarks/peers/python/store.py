import asyncio
import contextlib
import hashlib
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

SESSION_LIFETIME = 3600

SCHEMA = """
CREATE TABLE IF NOT EXISTS users(
  id INTEGER PRIMARY KEY, iss TEXT NOT NULL, sub TEXT NOT NULL,
  created_at INTEGER NOT NULL, signed_in_at INTEGER NOT NULL, UNIQUE(iss, sub));
CREATE TABLE IF NOT EXISTS sessions(
  token_hash BLOB PRIMARY KEY, refresh_hash BLOB NOT NULL,
  user_id INTEGER NOT NULL REFERENCES users(id),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
"""


def create(path):
    """Makes the tables, before the workers start, because they would contend for the switch to WAL."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(SCHEMA)


def digest(token):
    return hashlib.sha256(token.encode()).digest()


class Store:
    """One thread writes, because SQLite allows one writer; two read."""

    def __init__(self, path):
        self._path = path
        self._local = threading.local()
        self._writer = ThreadPoolExecutor(1)
        self._readers = ThreadPoolExecutor(2)

    def _connection(self):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=5, isolation_level="IMMEDIATE")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA foreign_keys=ON")
            self._local.connection = connection
        return connection

    async def sign_in(self, *args):
        await asyncio.get_running_loop().run_in_executor(self._writer, self._sign_in, *args)

    async def user(self, token):
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._user, token)

    def _sign_in(self, issuer, subject, token, refresh_token):
        now = int(time.time())
        with self._connection() as connection:
            (user_id,) = connection.execute(
                """INSERT INTO users(iss, sub, created_at, signed_in_at) VALUES (?1, ?2, ?3, ?3)
                ON CONFLICT(iss, sub) DO UPDATE SET signed_in_at = excluded.signed_in_at RETURNING id""",
                (issuer, subject, now),
            ).fetchone()
            connection.execute(
                """INSERT INTO sessions(token_hash, refresh_hash, user_id, created_at, expires_at)
                VALUES (?, ?, ?, ?, ?)""",
                (digest(token), digest(refresh_token), user_id, now, now + SESSION_LIFETIME),
            )

    def _user(self, token):
        return self._connection().execute(
            """SELECT users.id, users.created_at FROM sessions JOIN users ON users.id = sessions.user_id
            WHERE sessions.token_hash = ? AND sessions.expires_at > ?""",
            (digest(token), int(time.time())),
        ).fetchone()
