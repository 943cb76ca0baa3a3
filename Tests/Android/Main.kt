package com.example.signin

import org.json.JSONObject

/** Keeps tokens in memory. */
class MemoryTokenStore : TokenStore {
    var tokens: Tokens? = null
    var saves = 0
    override fun load() = tokens
    override fun save(tokens: Tokens?) {
        this.tokens = tokens
        saves += 1
    }
}

fun assert(isTrue: Boolean, what: String) {
    if (!isTrue) throw AssertionError(what)
}

/** The code of the error of a call that must fail. */
fun errorOf(call: () -> Unit): String {
    try {
        call()
    } catch (error: LatchkeyException) {
        return error.code
    }
    throw AssertionError("the call did not fail")
}

/**
 * The walk of Tests/Android/check.py, which plays the carrier's SDK and the browser: it answers each line of the
 * standard output, "sdk" or a URL, with what they return.
 */
fun main(arguments: Array<String>) {
    val store = MemoryTokenStore()
    val other = MemoryTokenStore()
    fun client(store: TokenStore, apiKey: String = arguments[2]) = Latchkey(arguments[0], arguments[1], apiKey, store)
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
    val pending = browser.startSignIn(arguments[3])
    println(pending.url)
    val callback = readLine()!!
    val foreign = "app:/x?status=success&session_id=y"
    assert(errorOf { browser.finishSignIn(pending, foreign) } == "foreign_callback", "foreign callback")
    assert(errorOf { browser.finishSignIn(browser.startSignIn(arguments[3]), callback) } == "invalid_grant", "verifier")
    val again = browser.startSignIn(arguments[3])
    println(again.url)
    assert(!browser.finishSignIn(again, readLine()!!), "the same user")
    assert(browser.me().getLong("user_id") == user, "the same user")
    assert(latchkey.revokeOtherSessions() >= 1, "other sessions")
    assert(errorOf { browser.me() } == "invalid_grant" && other.tokens == null, "an ended session")

    // After a fault of the operator, an app goes on to its next way; what no other way would change is no such error.
    for ((code, isLeft) in listOf(
        "not_on_mobile_network" to true, "carrier_error" to true, "carrier_timeout" to true, "access_denied" to true,
        "invalid_request" to false, "invalid_id_token" to false)) {
        try {
            browser.finishSignIn(again, again.redirectURI + "?action=login&status=failure&error=" + code)
            throw AssertionError("a failure with $code did not fail")
        } catch (error: LatchkeyException) {
            assert(error.code == code && error.leavesOtherWays == isLeft, "another way after $code")
        }
    }
    assert(errorOf { latchkey.linkNumber("x", "310010") } == "invalid_request", "a number at a provider of codes")

    latchkey.signOut()
    assert(store.tokens == null && errorOf { latchkey.me() } == "signed_out", "signed out")
    assert(!signIn(latchkey), "the user is known")
    latchkey.eraseAccount()
    assert(store.tokens == null, "erased")
    println("ok")
}
