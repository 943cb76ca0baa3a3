//go:build postgres
// +build postgres

package main

import (
	"context"
	"crypto/sha256"
	"os"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const tables = `
CREATE TABLE IF NOT EXISTS users(
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, iss TEXT NOT NULL, sub TEXT NOT NULL,
  created_at BIGINT NOT NULL, signed_in_at BIGINT NOT NULL, UNIQUE(iss, sub));
CREATE TABLE IF NOT EXISTS sessions(
  token_hash BYTEA PRIMARY KEY, refresh_hash BYTEA NOT NULL, user_id BIGINT NOT NULL REFERENCES users(id),
  created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`

// A sign-in is one statement: one round trip and one commit.
const addSession = `
WITH signed_in AS (
  INSERT INTO users(iss, sub, created_at, signed_in_at) VALUES ($1, $2, $3, $3)
  ON CONFLICT(iss, sub) DO UPDATE SET signed_in_at = excluded.signed_in_at RETURNING id)
INSERT INTO sessions(user_id, created_at, token_hash, refresh_hash, expires_at)
SELECT id, $3, $4, $5, $6 FROM signed_in`

const findUser = `
SELECT users.id, users.created_at FROM sessions JOIN users ON users.id = sessions.user_id
WHERE sessions.token_hash = $1 AND sessions.expires_at > $2`

var errNoSession = pgx.ErrNoRows

type user struct {
	ID        int64 `json:"user_id"`
	CreatedAt int64 `json:"created_at"`
}

// store has as many connections as Latchkey.
type store struct{ pool *pgxpool.Pool }

// openStore takes the URL of the database from DB_URL, because DB_PATH names a file.
func openStore(string) (*store, error) {
	settings, err := pgxpool.ParseConfig(os.Getenv("DB_URL"))
	if err != nil {
		return nil, err
	}
	settings.MaxConns = 8
	ctx := context.Background()
	pool, err := pgxpool.ConnectConfig(ctx, settings)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, tables); err != nil {
		return nil, err
	}
	return &store{pool}, nil
}

func hash(token string) []byte {
	digest := sha256.Sum256([]byte(token))
	return digest[:]
}

func (s *store) signIn(ctx context.Context, who identity, token, refreshToken string, now time.Time) error {
	expiresAt := now.Add(sessionLifetime)
	_, err := s.pool.Exec(
		ctx, addSession, who.issuer, who.subject, now.Unix(), hash(token), hash(refreshToken), expiresAt.Unix())
	return err
}

func (s *store) user(ctx context.Context, token string, now time.Time) (found user, err error) {
	row := s.pool.QueryRow(ctx, findUser, hash(token), now.Unix())
	err = row.Scan(&found.ID, &found.CreatedAt)
	return found, err
}
