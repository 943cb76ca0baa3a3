//go:build !postgres
// +build !postgres

package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

const schema = `
CREATE TABLE IF NOT EXISTS users(
  id INTEGER PRIMARY KEY, iss TEXT NOT NULL, sub TEXT NOT NULL,
  created_at INTEGER NOT NULL, signed_in_at INTEGER NOT NULL, UNIQUE(iss, sub));
CREATE TABLE IF NOT EXISTS sessions(
  token_hash BLOB PRIMARY KEY, refresh_hash BLOB NOT NULL,
  user_id INTEGER NOT NULL REFERENCES users(id),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;`

var errNoSession = sql.ErrNoRows

type user struct {
	ID        int64 `json:"user_id"`
	CreatedAt int64 `json:"created_at"`
}

// store has one connection that writes, because SQLite allows one writer, and several that read.
type store struct {
	write                           *sql.DB
	upsertUser, insertSession, find *sql.Stmt
}

func openStore(path string) (*store, error) {
	dsn := "file:" + path + "?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000&_foreign_keys=on"
	write, err := sql.Open("sqlite3", dsn+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	if _, err := write.Exec(schema); err != nil {
		return nil, err
	}
	read, err := sql.Open("sqlite3", dsn+"&_query_only=true")
	if err != nil {
		return nil, err
	}
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)

	s := &store{write: write}
	if s.upsertUser, err = write.Prepare(`
		INSERT INTO users(iss, sub, created_at, signed_in_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT(iss, sub) DO UPDATE SET signed_in_at = excluded.signed_in_at RETURNING id`); err != nil {
		return nil, err
	}
	if s.insertSession, err = write.Prepare(`
		INSERT INTO sessions(token_hash, refresh_hash, user_id, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?)`); err != nil {
		return nil, err
	}
	if s.find, err = read.Prepare(`
		SELECT users.id, users.created_at FROM sessions JOIN users ON users.id = sessions.user_id
		WHERE sessions.token_hash = ? AND sessions.expires_at > ?`); err != nil {
		return nil, err
	}
	return s, nil
}

func hash(token string) []byte {
	digest := sha256.Sum256([]byte(token))
	return digest[:]
}

func (s *store) signIn(ctx context.Context, who identity, token, refreshToken string, now time.Time) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var userID int64
	upserted := tx.StmtContext(ctx, s.upsertUser).QueryRowContext(ctx, who.issuer, who.subject, now.Unix())
	if err := upserted.Scan(&userID); err != nil {
		return err
	}
	if _, err := tx.StmtContext(ctx, s.insertSession).ExecContext(ctx, hash(token), hash(refreshToken), userID,
		now.Unix(), now.Add(sessionLifetime).Unix()); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *store) user(ctx context.Context, token string, now time.Time) (found user, err error) {
	err = s.find.QueryRowContext(ctx, hash(token), now.Unix()).Scan(&found.ID, &found.CreatedAt)
	return found, err
}
