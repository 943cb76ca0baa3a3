// The sign-in contract on net/http, go-oidc, oauth2 and database/sql or pgx.
package main

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const sessionLifetime = time.Hour

type server struct {
	apiKey   string
	clientID string
	carriers *carriers
	store    *store
}

type signInRequest struct {
	ClientID     string `json:"client_id"`
	Code         string `json:"code"`
	MCCMNC       string `json:"mccmnc"`
	RedirectURI  string `json:"redirect_uri"`
	CodeVerifier string `json:"code_verifier"`
	Nonce        string `json:"nonce"`
}

func (in signInRequest) valid(clientID string) bool {
	return in.ClientID == clientID && in.Code != "" && validMCCMNC(in.MCCMNC) &&
		in.RedirectURI != "" && len(in.CodeVerifier) >= 43 && in.Nonce != ""
}

func validMCCMNC(s string) bool {
	return (len(s) == 5 || len(s) == 6) && strings.Trim(s, "0123456789") == ""
}

type signInResponse struct {
	Token        string `json:"token"`
	RefreshToken string `json:"refresh_token"`
	TokenType    string `json:"token_type"`
	Expires      int    `json:"expires"`
}

func (s *server) signIn(w http.ResponseWriter, r *http.Request) {
	var in signInRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(&in)
	if err != nil || !in.valid(s.clientID) {
		writeError(w, http.StatusBadRequest, "invalid_request")
		return
	}
	identity, err := s.carriers.identify(r.Context(), in)
	if errors.Is(err, errRefused) {
		writeError(w, http.StatusUnauthorized, "sign_in_refused")
		return
	} else if err != nil {
		log.Print(err)
		writeError(w, http.StatusBadGateway, "carrier_unavailable")
		return
	}
	token, refreshToken := newToken(), newToken()
	if err := s.store.signIn(r.Context(), identity, token, refreshToken, time.Now()); err != nil {
		log.Print(err)
		writeError(w, http.StatusInternalServerError, "server_error")
		return
	}
	writeJSON(w, http.StatusOK, signInResponse{token, refreshToken, "bearer", int(sessionLifetime.Seconds())})
}

func (s *server) me(w http.ResponseWriter, r *http.Request) {
	authorization := r.Header.Get("Authorization")
	token := strings.TrimPrefix(authorization, "Bearer ")
	if token == authorization {
		writeError(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	user, err := s.store.user(r.Context(), token, time.Now())
	if errors.Is(err, errNoSession) {
		writeError(w, http.StatusUnauthorized, "invalid_token")
		return
	} else if err != nil {
		log.Print(err)
		writeError(w, http.StatusInternalServerError, "server_error")
		return
	}
	writeJSON(w, http.StatusOK, user)
}

func newToken() string {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (s *server) requireAPIKey(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-API-KEY")), []byte(s.apiKey)) != 1 {
			writeError(w, http.StatusUnauthorized, "invalid_api_key")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func method(name string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != name {
			w.Header().Set("Allow", name)
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed")
			return
		}
		handler(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, value interface{}) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

func writeError(w http.ResponseWriter, status int, code string) {
	writeJSON(w, status, map[string]string{"error": code})
}

func main() {
	store, err := openStore(os.Getenv("DB_PATH"))
	if err != nil {
		log.Fatal(err)
	}
	s := &server{
		apiKey:   os.Getenv("API_KEY"),
		clientID: os.Getenv("CLIENT_ID"),
		carriers: newCarriers(os.Getenv("DISCOVERY_URL"), os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET")),
		store:    store,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/auth/zenkey-signin", method(http.MethodPost, s.signIn))
	mux.HandleFunc("/users/me", method(http.MethodGet, s.me))
	log.Fatal((&http.Server{
		Addr:              "127.0.0.1:" + os.Getenv("PORT"),
		Handler:           s.requireAPIKey(mux),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}).ListenAndServe())
}
