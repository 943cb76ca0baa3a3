"""Databases with many users, made by SQL and kept in .build/bench for later runs.

The rows are modelled on those of a real sign-in, whatever the columns of the measured program: unique values are made
anew with the same length, users are numbered, times of expiry are moved by ten years, and the rest is copied.
"""
import hashlib
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time

from programs import BUILD, carrier, fail, latchkey, say, sign_in

TABLES = {"users": "id", "identities": "user_id", "sessions": "serial"}
STEP = 20_000
TEN_YEARS = 10 * 365 * 24 * 3600


def unique_columns(database, table):
    """The columns of a table's primary key and of its unique indexes, without its number."""
    found = {row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5] and row[2] != "INTEGER"}
    for _, index, is_unique, *_ in database.execute(f"PRAGMA index_list({table})").fetchall():
        if is_unique:
            found |= {row[2] for row in database.execute(f"PRAGMA index_info({index})")}
    return found


def expression(table, name, value, is_unique):
    """SQL for the value of a column in the row of user `n`, from 0; `value` is that of the model."""
    if (table, name) == ("users", "id") or name == "user_id":
        return "n + 1"
    if name == TABLES[table]:
        return "n + 1"
    if name == "subject":
        return "printf('sub-%08x', (n * 2654435761) & 4294967295)"
    if name == "issuer":
        return "?"
    if name.endswith("expires_at") and isinstance(value, int):
        return f"? + {TEN_YEARS}"
    if name in ("token_hash", "refresh_hash"):
        return "token_hash(n)"
    if is_unique or name in ("id", "public_id"):
        if isinstance(value, bytes):
            return f"randomblob({len(value)})"
        if isinstance(value, str):
            return f"substr(lower(hex(randomblob({len(value)}))), 1, {len(value)})"
    return "?"


def token_hash(number):
    """As of the tokens of a sign-in in each tenth of a second: a hash begins with its time, which orders them."""
    return (number * 6_554).to_bytes(6, "big") + os.urandom(26)


def model(program, folder):
    """A database of the program with one user."""
    path = pathlib.Path(folder) / "model.db"
    with carrier(10) as provider, latchkey(program, path, provider.port) as server:
        status, answer = sign_in(server, 1)
        if status != 200:
            fail(f"a sign-in got {status}: {answer}")
    return path


def schema(database):
    return database.execute("SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
                            ).fetchone()[0]


def fill(path, count):
    """Replaces the user of a model by `count` others, numbered from 0."""
    database = sqlite3.connect(path, isolation_level=None)
    database.create_function("token_hash", 1, token_hash)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -1000000")
    inserts = []
    for table, order in TABLES.items():
        cursor = database.execute(f"SELECT * FROM {table} ORDER BY {order} DESC LIMIT 1")
        names, row = [column[0] for column in cursor.description], cursor.fetchone()
        unique = unique_columns(database, table)
        values = [expression(table, name, value, name in unique) for name, value in zip(names, row)]
        copied = [value for value, sql in zip(row, values) if "?" in sql]
        inserts.append((
            f"WITH RECURSIVE numbers (n) AS (VALUES (:first) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last) "
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM numbers", copied))
    database.execute("PRAGMA foreign_keys = OFF")
    for table in ("recent_sign_ins", *reversed(TABLES)):
        if database.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [table]).fetchone():
            database.execute(f"DELETE FROM {table}")
    began = shown = time.monotonic()
    for first in range(0, count, STEP):
        last = min(count, first + STEP) - 1
        database.execute("BEGIN")
        for sql, copied in inserts:
            numbered = sql.replace(":first", str(first)).replace(":last", str(last))
            database.execute(numbered, copied)
        database.execute("COMMIT")
        if time.monotonic() - shown > 2:
            shown = time.monotonic()
            left = (shown - began) / (last + 1) * (count - last - 1)
            say(f"{last + 1} of {count} users are made; about {left:.0f} s are left")
    database.execute("PRAGMA journal_mode = WAL")
    database.close()


def database(program, count):
    """A file with `count` users for the tables of this program: made, or found in .build/bench."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = model(program, folder)
        with sqlite3.connect(path) as connection:
            form = hashlib.sha256(
                (schema(connection) + pathlib.Path(__file__).read_text()).encode()).hexdigest()[:16]
        connection.close()
        kept = BUILD / f"users-{count}-{form}.db"
        if kept.exists():
            return kept
        # Those of other tables or another form will not be used again.
        for old in BUILD.glob(f"users-{count}-*.db*"):
            if time.time() - old.stat().st_mtime > 24 * 3600:
                old.unlink()
        say(f"making {count} users, once: {kept.name} is kept in .build/bench")
        fill(path, count)
        copy(path, f"{kept}.new")
        os.replace(f"{kept}.new", kept)
        return kept


def copy(source, target):
    done = subprocess.run(["cp", "--reflink=auto", str(source), str(target)], capture_output=True, text=True)
    if done.returncode:
        fail(f"the database cannot be copied: {done.stderr.strip()}")
