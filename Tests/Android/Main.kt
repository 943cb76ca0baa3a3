package latchkey.client.tests

import java.security.KeyPair
import java.security.KeyPairGenerator
import java.security.spec.ECGenParameterSpec
import latchkey.client.Latchkey
import latchkey.client.LatchkeyException
import latchkey.client.TokenStore
import latchkey.client.Tokens
import latchkey.client.codeChallenge
import latchkey.client.finishSignIn
import latchkey.client.newCodeVerifier
import latchkey.client.signIn
import latchkey.client.startSignIn
import org.json.JSONObject

/**
 * The walk of Tests/Android/check.py, which plays the carrier's SDK and the browser: it answers each line of the
 * standard output, "sdk" or a URL, with what they return. The arguments are the URLs of the server and of what is
 * simulated.
 */
fun main(arguments: Array<String>) {
    val (server, simulator) = arguments
    signIns(server)
    boundTokens(server)
    native(server, simulator)
    digitalCredentials(server, simulator)
    numbers(server, simulator)
    refusals()
    visits()
    println("ok")
}

fun client(server: String, store: TokenStore, apiKey: String = "demo-key") =
    Latchkey(server, "demo-app", apiKey, store)

/** Sign-ins by code, and the session. */
private fun signIns(server: String) {
    val redirectURI = "$server/sign-in"
    val store = MemoryTokenStore()
    val other = MemoryTokenStore()
    fun client(store: TokenStore, apiKey: String = "demo-key") = client(server, store, apiKey)
    fun signIn(latchkey: Latchkey): Boolean {
        println("sdk")
        val sdk = JSONObject(readLine()!!)
        return latchkey.signIn(
            sdk.getString("code"), sdk.getString("mccmnc"), sdk.getString("redirect_uri"),
            sdk.getString("code_verifier"), sdk.optString("nonce"))
    }

    // RFC 7636 appendix B.
    val challenge = codeChallenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    assert(challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "challenge $challenge")
    assert(newCodeVerifier().length == 43 && newCodeVerifier() != newCodeVerifier(), "verifier")

    val latchkey = client(store)
    assert(errorOf { latchkey.me() } == "signed_out", "before the sign-in")
    val stranger = client(store, "wrong")
    assert(errorOf { stranger.signIn("c", "310010", "app:/x", "v", null) } == "invalid_api_key", "API key")
    assert(signIn(latchkey), "a new user")
    val user = latchkey.me().getLong("user_id")

    // An expired token is refreshed before use; one that the server refuses after the answer.
    val first = store.tokens!!
    store.tokens = Tokens(first.token, first.refreshToken, 0)
    assert(latchkey.me().getLong("user_id") == user, "the user after a refresh")
    val second = store.tokens!!
    assert(second.token != first.token && second.expiresAt > System.currentTimeMillis(), "new tokens")
    store.tokens = Tokens("x".repeat(43), second.refreshToken, second.expiresAt)
    assert(latchkey.me().getLong("user_id") == user, "the user after a refused token")

    // Several threads whose token the server refuses refresh once.
    val third = store.tokens!!
    store.tokens = Tokens("x".repeat(43), third.refreshToken, third.expiresAt)
    val before = store.saves
    val seen = java.util.Collections.synchronizedSet(mutableSetOf<Long>())
    val threads = (1..8).map { kotlin.concurrent.thread { seen.add(latchkey.me().getLong("user_id")) } }
    threads.forEach { it.join() }
    assert(seen == setOf(user), "the user of all threads: $seen")
    assert(store.saves == before + 1, "refreshes: ${store.saves - before}")

    // The browser of another device.
    val browser = client(other)
    val pending = browser.startSignIn(redirectURI)
    println(pending.url)
    val callback = readLine()!!
    val foreign = "app:/x?status=success&session_id=y"
    assert(errorOf { browser.finishSignIn(pending, foreign) } == "foreign_callback", "foreign callback")
    assert(errorOf { browser.finishSignIn(browser.startSignIn(redirectURI), callback) } == "invalid_grant", "verifier")
    val again = browser.startSignIn(redirectURI)
    println(again.url)
    assert(!browser.finishSignIn(again, readLine()!!), "the same user")
    assert(browser.me().getLong("user_id") == user, "the same user")
    assert(latchkey.revokeOtherSessions() >= 1, "other sessions")
    assert(errorOf { browser.me() } == "invalid_grant" && other.tokens == null, "an ended session")

    // After a fault of the operator, an app goes on to its next way; what no other way would change is no such error.
    for ((code, isLeft) in listOf(
        "not_on_mobile_network" to true, "carrier_error" to true, "carrier_timeout" to true, "access_denied" to true,
        "user_already_exists" to true, "invalid_id_token" to true, "invalid_request" to false)) {
        try {
            browser.finishSignIn(again, again.redirectURI + "?action=login&status=failure&error=" + code)
            throw AssertionError("a failure with $code did not fail")
        } catch (error: LatchkeyException) {
            assert(error.code == code && error.leavesOtherWays == isLeft, "another way after $code")
        }
    }
    latchkey.signOut()
    assert(store.tokens == null && errorOf { latchkey.me() } == "signed_out", "signed out")
    assert(!signIn(latchkey), "the user is known")
    latchkey.eraseAccount()
    assert(store.tokens == null, "erased")
    println("sdk")
    val device = Device()
    device.carrier(latchkey, JSONObject(readLine()!!))
    assert((device.shown.single() as JSONObject).getLong("user_id") != user, "a new user")
    latchkey.eraseAccount()
}

/** Tokens that are bound to a key of the app, and are worth nothing without it. */
private fun boundTokens(server: String) {
    fun key(): KeyPair =
        KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }.generateKeyPair()
    val key = key()
    val store = MemoryTokenStore()
    fun client(key: KeyPair?) = Latchkey(server, "demo-app", "demo-key", store, key = key)
    val latchkey = client(key)
    val pending = latchkey.startSignIn("$server/sign-in")
    println(pending.url)
    assert(latchkey.finishSignIn(pending, readLine()!!), "a new user")
    val user = latchkey.me().getLong("user_id")
    // Signatures begin with a byte of each value in time.
    repeat(40) { assert(latchkey.me().getLong("user_id") == user, "the user with a proof") }
    val first = store.tokens!!
    assert(first.token.indexOf('~') == 43, "a bound token")
    store.tokens = Tokens(first.token, first.refreshToken, 0)
    assert(latchkey.me().getLong("user_id") == user, "the user after a refresh")
    assert(store.tokens!!.token != first.token, "new tokens")
    assert(errorOf { client(key()).me() } == "invalid_dpop_proof", "another key")
    val kept = store.tokens!!
    store.tokens = Tokens(kept.token, kept.refreshToken, 0)
    assert(errorOf { client(null).me() } == "invalid_dpop_proof", "no key")
    store.tokens = kept
    latchkey.eraseAccount()
}
