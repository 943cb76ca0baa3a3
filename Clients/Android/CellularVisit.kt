package latchkey.client

import java.io.IOException
import java.net.HttpURLConnection
import java.net.MalformedURLException
import java.net.URL
import java.util.concurrent.ExecutionException
import java.util.concurrent.FutureTask
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException
import kotlin.concurrent.thread

/**
 * Visits an authorization URL over the cellular network, and follows its redirects up to the app's redirect URI,
 * without showing a page.
 *
 * Each request has no more than the origin's own cookies of this visit. Nothing of one origin is sent to another. No
 * content is read. Without TLS there are only URLs of this machine, for a server that is there. An app with a default
 * CookieHandler adds its cookies, and keeps those of the visit.
 */
internal class CellularVisit(
    private val redirectURI: String, private val allowsLoopbackHTTP: Boolean,
    private val open: (URL) -> HttpURLConnection, milliseconds: Long = TIME_LIMIT
) {
    private val cookies = mutableMapOf<String, MutableMap<String, String>>()
    private val deadline = System.nanoTime() + milliseconds * 1_000_000

    /** The redirect URI with its parameters. */
    fun callback(from: String): String {
        var url = checked(from, null)
        for (count in 0..MOST_REDIRECTS) {
            val location = redirect(url)
            if (isCallback(location, redirectURI)) return location
            url = checked(location, url)
        }
        throw failure("authorization_stopped")
    }

    private fun redirect(url: URL): String {
        val left = (deadline - System.nanoTime()) / 1_000_000
        if (left <= 0) throw failure("cellular_unavailable")
        val origin = url.protocol + "://" + url.authority
        var connection: HttpURLConnection? = null
        try {
            connection = open(url)
            connection.instanceFollowRedirects = false
            connection.useCaches = false
            connection.connectTimeout = left.toInt()
            connection.readTimeout = left.toInt()
            connection.setRequestProperty("Accept", "text/html")
            val present = cookies[origin].orEmpty()
            if (present.isNotEmpty()) {
                connection.setRequestProperty("Cookie", present.entries.joinToString("; ") { it.key + "=" + it.value })
            }
            if (status(connection, left) !in listOf(301, 302, 303, 307, 308)) throw failure("authorization_stopped")
            keep(values(connection, "Set-Cookie"), origin)
            return values(connection, "Location").singleOrNull() ?: throw failure("authorization_stopped")
        } catch (error: IOException) {
            throw failure("cellular_unavailable")
        } finally {
            connection?.disconnect()
        }
    }

    /** The status, within [milliseconds]: a read timeout begins anew with each byte of a slow response. */
    private fun status(connection: HttpURLConnection, milliseconds: Long): Int {
        val response = FutureTask { connection.responseCode }
        thread(isDaemon = true) { response.run() }
        try {
            return response.get(milliseconds, TimeUnit.MILLISECONDS)
        } catch (error: ExecutionException) {
            throw error.cause ?: error
        } catch (error: TimeoutException) {
            throw failure("cellular_unavailable")
        }
    }

    private fun values(connection: HttpURLConnection, name: String): List<String> =
        connection.headerFields.filterKeys { name.equals(it, ignoreCase = true) }.values.flatten()

    private fun checked(text: String, base: URL?): URL {
        val stopped = failure("authorization_stopped")
        val url = try { URL(base, text) } catch (error: MalformedURLException) { throw stopped }
        val isLoopback = url.host in listOf("127.0.0.1", "localhost", "[::1]")
        val isTrusted = url.protocol == "https" || url.protocol == "http" && isLoopback && allowsLoopbackHTTP
        val isPlain = text.length <= 8192 && text.all { it in '!'..'~' } && url.host != "" && url.userInfo == null
        return if (isTrusted && isPlain) url else throw stopped
    }

    private fun keep(fields: List<String>, origin: String) {
        val present = cookies.getOrPut(origin) { linkedMapOf() }
        for (field in fields.filter { it.length <= 4096 }) {
            val pair = field.substringBefore(';')
            val name = pair.substringBefore('=')
            if ('=' !in pair || name == "" || !pair.all { it in '!'..'~' }) continue
            present.remove(name)
            val isDeleted = field.split(';').drop(1).any { it.trim().startsWith("max-age=0", ignoreCase = true) }
            if (!isDeleted && present.size < 20) present[name] = pair.substringAfter('=')
        }
    }

    private companion object {
        const val MOST_REDIRECTS = 10
        const val TIME_LIMIT = 15_000L
    }
}
