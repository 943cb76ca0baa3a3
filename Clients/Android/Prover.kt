package latchkey.client

import java.math.BigInteger
import java.security.KeyPair
import java.security.MessageDigest
import java.security.SecureRandom
import java.security.Signature
import java.security.interfaces.ECPublicKey
import kotlin.math.abs
import org.json.JSONObject

/** Proves that the app has a key (DPoP, RFC 9449). */
internal class Prover(private val key: KeyPair) {
    /** What the last response said, in milliseconds; 0 if it said nothing. */
    @Volatile var serverTime = 0L
    /** How many milliseconds the clock of this device is slow. */
    @Volatile private var offset = 0L

    /** Takes the server's time over. False if that changes little. */
    fun hasNewTime(): Boolean {
        val new = serverTime - System.currentTimeMillis()
        if (serverTime == 0L || abs(new - offset) < 60_000) return false
        offset = new
        return true
    }

    /** A proof for one request, which the server accepts once. */
    fun proof(method: String, url: String, token: String?): String {
        val point = (key.public as ECPublicKey).w
        val jwk = JSONObject().put("kty", "EC").put("crv", "P-256")
            .put("x", base64url(bytes(point.affineX))).put("y", base64url(bytes(point.affineY)))
        val header = JSONObject().put("typ", "dpop+jwt").put("alg", "ES256").put("jwk", jwk)
        val id = ByteArray(16).also { SecureRandom().nextBytes(it) }
        val claims = JSONObject().put("jti", base64url(id)).put("htm", method)
            .put("htu", url.substringBefore('?')).put("iat", (System.currentTimeMillis() + offset) / 1000)
        if (token != null) {
            claims.put("ath", base64url(MessageDigest.getInstance("SHA-256").digest(token.toByteArray())))
        }
        val signed = listOf(header, claims).joinToString(".") { base64url(it.toString().toByteArray()) }
        val signature = Signature.getInstance("SHA256withECDSA").run {
            initSign(key.private)
            update(signed.toByteArray())
            sign()
        }
        return signed + "." + base64url(raw(signature))
    }

    /** The two numbers of a signature in ASN.1, 32 bytes each (RFC 7518 section 3.4). */
    private fun raw(signature: ByteArray): ByteArray {
        val r = signature.copyOfRange(4, 4 + signature[3])
        val s = signature.copyOfRange(6 + signature[3], signature.size)
        return bytes(BigInteger(r)) + bytes(BigInteger(s))
    }

    /** A number of a P-256 key or signature in 32 bytes. */
    private fun bytes(number: BigInteger): ByteArray {
        val bytes = number.toByteArray()
        return ByteArray(maxOf(0, 32 - bytes.size)) + bytes.takeLast(32)
    }
}
