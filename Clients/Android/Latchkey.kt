// A client of a Latchkey server for Android: copy this file into your app. It needs nothing but what Android has. Call
// its functions from a background thread, because each of them waits for the server.
package com.example.signin

import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.net.URLDecoder
import java.net.URLEncoder
import java.security.MessageDigest
import java.security.SecureRandom
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock
import org.json.JSONException
import org.json.JSONObject

/** The tokens of a session. [expiresAt] is in milliseconds, by the clock of this device. */
class Tokens(val token: String, val refreshToken: String, val expiresAt: Long) {
    override fun toString() = "Tokens"
}

/** Keeps the tokens, encrypted with a key of the Android Keystore. Null means that nobody is signed in. */
interface TokenStore {
    fun load(): Tokens?
    fun save(tokens: Tokens?)
}

/**
 * An error of the server. [code] is its `error`; [status] is that of the response, 0 if there was none; [response] has
 * all members of the response. For `user_not_registered` it has `state_key`, with which [Latchkey.register] goes on.
 */
class LatchkeyException(val code: String, val status: Int, message: String, val response: JSONObject) :
    Exception(message) {
    /** Whether another way may sign the user in, after a sign-in by phone number. Any other failure would remain. */
    val leavesOtherWays: Boolean get() = code in OTHER_WAYS
}

/** The errors that are about the phone, its operator or its number (docs/verified-numbers.md). */
private val OTHER_WAYS = setOf(
    "not_on_mobile_network", "sim_swapped", "operator_unknown", "consent_required", "carrier_error", "carrier_timeout",
    "temporarily_unavailable", "access_denied", "invalid_grant")

/** A sign-in that waits for the browser. Keep it in the saved state of the activity: the app may end meanwhile. */
class PendingSignIn(val url: String, val redirectURI: String, val codeVerifier: String) {
    override fun toString() = "PendingSignIn"
}

/** Signs the user in, keeps the session alive, and sends requests with it. Failed connections are an IOException. */
class Latchkey(
    private val baseURL: String, private val clientID: String, private val apiKey: String,
    private val store: TokenStore, private val provider: String = "zenkey"
) {
    private val lock = ReentrantLock()

    /** Signs in with the values of the carrier's SDK. True if this sign-in made the user. */
    fun signIn(code: String, mccmnc: String, redirectURI: String, codeVerifier: String, nonce: String?): Boolean {
        val fields = mutableMapOf(
            "client_id" to clientID, "code" to code, "mccmnc" to mccmnc, "redirect_uri" to redirectURI,
            "code_verifier" to codeVerifier)
        if (nonce != null) fields["nonce"] = nonce
        return enter(sendAgainIfLost("/auth/${encode(provider)}/sign-in", fields))
    }

    /**
     * Starts a sign-in in a browser: open the URL of the result in a Custom Tab. [redirectURI] is registered for the
     * client, and opens this app only, such as `com.example.app:/signed-in`. [mccmnc] is the network of the SIM, if the
     * user need not choose it.
     */
    fun startSignIn(redirectURI: String, mccmnc: String? = null): PendingSignIn {
        val codeVerifier = newCodeVerifier()
        val fields = mutableMapOf(
            "client_type" to "android", "client_id" to clientID, "redirect_uri" to redirectURI,
            "code_challenge" to codeChallenge(codeVerifier), "code_challenge_method" to "S256")
        if (mccmnc != null) fields["mccmnc"] = mccmnc
        val query = form(fields)
        return PendingSignIn("$baseURL/auth/${encode(provider)}/start?$query", redirectURI, codeVerifier)
    }

    /** Finishes a sign-in with the URL that opened the app. Only this app has the code verifier that it needs. */
    fun finishSignIn(pending: PendingSignIn, callback: String): Boolean {
        if (!callback.startsWith(pending.redirectURI + "?")) throw failure("foreign_callback")
        val items = callback.substringAfter('?').substringBefore('#').split('&').associate {
            decode(it.substringBefore('=')) to decode(it.substringAfter('=', ""))
        }
        val sessionID = items["session_id"]
        if (items["status"] == "success" && sessionID != null) {
            val fields = mapOf("session_id" to sessionID, "code_verifier" to pending.codeVerifier)
            return enter(send("POST", "/auth/session", fields, null))
        }
        if (items["status"] == "partial") {
            throw failure("user_not_registered", items + ("code_verifier" to pending.codeVerifier))
        }
        throw failure(items["error"] ?: "foreign_callback", items)
    }

    /**
     * Signs in with a TS.43 operator token, which the app got from the operator by the SIM, at a provider of phone
     * numbers. A token works once. After an error that [LatchkeyException.leavesOtherWays], use another way.
     */
    fun signInWithOperatorToken(operatorToken: String, mccmnc: String): Boolean {
        val fields = mapOf("client_id" to clientID, "operator_token" to operatorToken, "mccmnc" to mccmnc)
        return enter(send("POST", "/auth/${encode(provider)}/sign-in", fields, null))
    }

    /** Adds the phone number of this device to the signed-in user, by a TS.43 operator token. Returns the identity. */
    fun linkNumber(operatorToken: String, mccmnc: String): JSONObject {
        val fields = mapOf("provider" to provider, "operator_token" to operatorToken, "mccmnc" to mccmnc)
        return request("POST", "/users/me/identities", fields)
    }

    /** Registers the user whom an error `user_not_registered` is about. The attributes are those of your form. */
    fun register(offer: JSONObject, attributes: Map<String, String>): Boolean {
        val fields = attributes.toMutableMap()
        for (name in listOf("state_key", "code_verifier")) if (offer.has(name)) fields[name] = offer.getString(name)
        return enter(send("POST", "/users", fields, null))
    }

    /** The signed-in user, as GET /users/me returns it. */
    fun me(): JSONObject = request("GET", "/users/me")

    /** Erases the account of the user. */
    fun eraseAccount() {
        request("DELETE", "/users/me")
        lock.withLock { store.save(null) }
    }

    /** Ends the sessions on the user's other devices, and returns how many there were. */
    fun revokeOtherSessions(): Int = request("DELETE", "/users/me/sessions").getInt("revoked")

    /** Ends the session. The stored tokens are deleted in any case. */
    fun signOut() {
        try {
            request("DELETE", "/auth/token")
        } catch (error: LatchkeyException) {
            if (error.status != 401) throw error
        } finally {
            lock.withLock { store.save(null) }
        }
    }

    /** Sends a request with the session, and once more after a refresh if the session token has expired. */
    fun request(method: String, path: String, fields: Map<String, String>? = null): JSONObject {
        val tokens = usableTokens()
        try {
            return send(method, path, fields, tokens)
        } catch (error: LatchkeyException) {
            if (error.code != "invalid_token") throw error
            return send(method, path, fields, refresh(tokens))
        }
    }

    private fun usableTokens(): Tokens {
        val tokens = lock.withLock { store.load() } ?: throw failure("signed_out")
        return if (tokens.expiresAt - System.currentTimeMillis() < 10_000) refresh(tokens) else tokens
    }

    /** Replaces ended tokens. A refresh token works once: the threads wait here for one refresh. */
    private fun refresh(ended: Tokens): Tokens = lock.withLock {
        val present = store.load() ?: throw failure("signed_out")
        if (present.token != ended.token) return present
        val fields = mapOf("grant_type" to "refresh_token", "refresh_token" to ended.refreshToken)
        try {
            enter(sendAgainIfLost("/auth/token", fields))
        } catch (error: LatchkeyException) {
            // Any other error leaves the session as it is.
            if (error.code == "invalid_grant") store.save(null)
            throw error
        }
        store.load() ?: throw failure("signed_out")
    }

    private fun enter(answer: JSONObject): Boolean = lock.withLock {
        val expiresAt = System.currentTimeMillis() + answer.getLong("expires") * 1000
        store.save(Tokens(answer.getString("token"), answer.getString("refresh_token"), expiresAt))
        answer.optBoolean("new_user")
    }

    /** The server has its answer ready for the identical request if the response was lost. */
    private fun sendAgainIfLost(path: String, fields: Map<String, String>): JSONObject =
        try {
            send("POST", path, fields, null)
        } catch (error: IOException) {
            send("POST", path, fields, null)
        }

    private fun send(method: String, path: String, fields: Map<String, String>?, tokens: Tokens?): JSONObject {
        val connection = URL(baseURL + path).openConnection() as HttpURLConnection
        try {
            connection.requestMethod = method
            // Codes and tokens go to this server only.
            connection.instanceFollowRedirects = false
            connection.useCaches = false
            connection.connectTimeout = 10_000
            connection.readTimeout = 30_000
            connection.setRequestProperty("Accept", "application/json")
            connection.setRequestProperty("X-API-KEY", apiKey)
            if (tokens != null) connection.setRequestProperty("Authorization", "Bearer " + tokens.token)
            if (fields != null) {
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/x-www-form-urlencoded")
                connection.outputStream.use { it.write(form(fields).toByteArray()) }
            }
            val status = connection.responseCode
            val stream = if (status < 400) connection.inputStream else connection.errorStream
            val text = stream?.use { it.readBytes().toString(Charsets.UTF_8) } ?: ""
            val answer = try { JSONObject(text) } catch (error: JSONException) { throw failure("malformed_answer") }
            if (status in 200..299) return answer
            val message = answer.optString("message", answer.optString("error_description"))
            throw LatchkeyException(answer.optString("error", "malformed_answer"), status, message, answer)
        } finally {
            connection.disconnect()
        }
    }
}

/** A code verifier of 256 random bits (RFC 7636 section 4.1). */
fun newCodeVerifier(): String = base64url(ByteArray(32).also { SecureRandom().nextBytes(it) })

/** The S256 challenge of a code verifier (RFC 7636 section 4.2). */
fun codeChallenge(codeVerifier: String): String =
    base64url(MessageDigest.getInstance("SHA-256").digest(codeVerifier.toByteArray(Charsets.US_ASCII)))

/** As java.util.Base64 does it, which Android has since version 8 only. */
private fun base64url(bytes: ByteArray): String {
    val alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    val bits = bytes.joinToString("") { (it.toInt() and 0xff).toString(2).padStart(8, '0') }
    return bits.chunked(6).joinToString("") { alphabet[it.padEnd(6, '0').toInt(2)].toString() }
}

private fun encode(text: String) = URLEncoder.encode(text, "UTF-8")

private fun decode(text: String) = URLDecoder.decode(text, "UTF-8")

private fun form(fields: Map<String, String>) =
    fields.entries.joinToString("&") { encode(it.key) + "=" + encode(it.value) }

private fun failure(code: String, items: Map<String, String> = emptyMap()) =
    LatchkeyException(code, 0, items["message"] ?: code, JSONObject(items))
