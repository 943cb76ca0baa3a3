// A client of a Latchkey server for Android: a folder of files to add to the sources of an app. It needs nothing but
// what Android has. Call its functions from a background thread, because each of them waits for the server.
package latchkey.client

import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.security.KeyPair
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock
import org.json.JSONException
import org.json.JSONObject

/**
 * Signs the user in, keeps the session alive, and sends requests with it. Failed connections are an IOException.
 *
 * [clientID] is the app's client at [provider]. [numberProvider] is the provider of phone numbers. The providers are
 * named as in the server's configuration. [key] binds the session's tokens to a key on P-256, best one of the Android
 * Keystore, if the server's client allows it (DPoP).
 */
class Latchkey(
    internal val baseURL: String, internal val clientID: String, private val apiKey: String,
    private val store: TokenStore, internal val provider: String = "zenkey",
    internal val numberProvider: String = "number", key: KeyPair? = null
) {
    private val lock = ReentrantLock()
    private val prover = key?.let { Prover(it) }

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
    fun request(method: String, path: String, fields: Map<String, String?>? = null): JSONObject =
        requestJSON(method, path, fields?.let { JSONObject(it) })

    internal fun requestJSON(method: String, path: String, body: JSONObject?): JSONObject {
        val tokens = usableTokens()
        try {
            return send(method, path, body, tokens)
        } catch (error: LatchkeyException) {
            if (error.code != "invalid_token") throw error
            return send(method, path, body, refresh(tokens))
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

    /** Stores the tokens of a sign-in. True if it made the user. */
    internal fun enter(answer: JSONObject): Boolean = lock.withLock {
        val expiresAt = System.currentTimeMillis() + answer.getLong("expires") * 1000
        store.save(Tokens(answer.getString("token"), answer.getString("refresh_token"), expiresAt))
        answer.optBoolean("new_user")
    }

    /** The server has its answer ready for the identical request if the response was lost. */
    internal fun sendAgainIfLost(path: String, fields: Map<String, String?>): JSONObject =
        try {
            post(path, fields)
        } catch (error: IOException) {
            post(path, fields)
        }

    /** Posts fields without the session. Those that are null are left out. */
    internal fun post(path: String, fields: Map<String, String?>): JSONObject =
        send("POST", path, JSONObject(fields.filterValues { it != null }))

    /** A proof that the server refuses is made again if the clock of this device was wrong. */
    internal fun send(method: String, path: String, body: JSONObject? = null, tokens: Tokens? = null): JSONObject =
        try {
            sendOnce(method, path, body, tokens)
        } catch (error: LatchkeyException) {
            if (error.code != "invalid_dpop_proof" || prover?.hasNewTime() != true) throw error
            sendOnce(method, path, body, tokens)
        }

    private fun sendOnce(method: String, path: String, body: JSONObject?, tokens: Tokens?): JSONObject {
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
            if (tokens != null) {
                val scheme = if (prover != null && tokens.isBound) "DPoP" else "Bearer"
                connection.setRequestProperty("Authorization", scheme + " " + tokens.token)
            }
            prover?.let { connection.setRequestProperty("DPoP", it.proof(method, baseURL + path, tokens?.token)) }
            if (body != null) {
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.outputStream.use { it.write(body.toString().toByteArray()) }
            }
            val status = connection.responseCode
            prover?.serverTime = connection.date
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
