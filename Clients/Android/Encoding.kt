package latchkey.client

import java.net.URLDecoder
import java.net.URLEncoder
import java.security.MessageDigest
import java.security.SecureRandom

/** A code verifier of 256 random bits (RFC 7636 section 4.1). */
fun newCodeVerifier(): String = base64url(ByteArray(32).also { SecureRandom().nextBytes(it) })

/** The S256 challenge of a code verifier (RFC 7636 section 4.2). */
fun codeChallenge(codeVerifier: String): String =
    base64url(MessageDigest.getInstance("SHA-256").digest(codeVerifier.toByteArray(Charsets.US_ASCII)))

/** As java.util.Base64 does it, which Android has since version 8 only. */
internal fun base64url(bytes: ByteArray): String {
    val alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    val bits = bytes.joinToString("") { (it.toInt() and 0xff).toString(2).padStart(8, '0') }
    return bits.chunked(6).joinToString("") { alphabet[it.padEnd(6, '0').toInt(2)].toString() }
}

internal fun encode(text: String): String = URLEncoder.encode(text, "UTF-8")

/** A query of the fields that are not null. */
internal fun query(vararg fields: Pair<String, String?>): String =
    fields.filter { it.second != null }.joinToString("&") { encode(it.first) + "=" + encode(it.second!!) }

/** The parameters of the URL that a browser ended at, which must be one of [redirectURI]. */
internal fun callbackItems(callback: String, redirectURI: String): Map<String, String> {
    if (!isCallback(callback, redirectURI)) throw failure("foreign_callback")
    return callback.substringAfter('?').substringBefore('#').split('&').associate {
        decode(it.substringBefore('=')) to decode(it.substringAfter('=', ""))
    }
}

/** Whether a URL is [redirectURI] with parameters. */
internal fun isCallback(url: String, redirectURI: String) =
    url.startsWith("$redirectURI?") || url.startsWith("$redirectURI&")

private fun decode(text: String) = URLDecoder.decode(text, "UTF-8")
