package latchkey.client

/**
 * Gets a nonce, with which the app asks Credential Manager for an ID token of [provider], such as `google`. It works
 * once, and for a few minutes.
 */
fun Latchkey.nonce(provider: String): String =
    sendAgainIfLost("/auth/${encode(provider)}/attempts", emptyMap()).getString("nonce")

/**
 * Signs in with an ID token of the device. True if this sign-in made the user.
 *
 * A token works once, so the request is not repeated after a lost response: get another nonce and another token.
 * [authorizationCode] is the code beside the token, if the server redeems it. [clientID] is the client, if several have
 * native sign-ins.
 */
fun Latchkey.signInNatively(
    provider: String, idToken: String, nonce: String, authorizationCode: String? = null, clientID: String? = null
): Boolean =
    enter(post(
        "/auth/${encode(provider)}/native",
        mapOf(
            "id_token" to idToken, "nonce" to nonce, "authorization_code" to authorizationCode,
            "client_id" to clientID)))
