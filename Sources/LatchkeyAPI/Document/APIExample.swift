/// Values for examples: well formed, and valid nowhere.
package enum APIExample {
    package static let token = "q1Zb7vXo2KfJ0sWm4RtYc8UeHd3LgNpA5iTxCk9wQzE"
    static let refreshToken = "M8sTz0aVj5LqWc2XfRb7YhKd1NpGoE4uIi6xCt3QwZk"
    package static let handle = "H4nDl3-0f-the-serv3r-itself-2b8Qm5xYtRc7WzKp"
    package static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    package static let code = "SplxlOBeZQQYbYS6WxSbIA"
    package static let nonce = "n-0S6_WzA2Mj"
    package static let jwt = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"
    package static let correlationID = "b0e5-41"

    package static let tokens = tokenResponse("")

    /// A token response: `more` are further members, each with a comma before it.
    package static func tokenResponse(_ more: String) -> String {
        """
        {"token": "\(token)", "access_token": "\(token)", "refresh_token": "\(refreshToken)", "token_type": "bearer", \
        "expires": 3600, "expires_in": 3600, "new_user": false, "correlation_id": "\(correlationID)"\(more)}
        """
    }

    static let user = """
        {"user_id": 7, "username": null, "name": "Jane Doe", "email": "jane@example.com", "postal_code": "90210", \
        "phone_number": "+12025550123", "zenkey_sub": "u_8KfX2mQ0", "sub": "u_8KfX2mQ0", \
        "created_at": 1800000000, \
        "email_verified": true, "email_verified_at": 1800000000, "email_verified_by": "https://op1.att.com", \
        "phone_number_verified": false, "phone_number_verified_at": null, "phone_number_verified_by": null}
        """

    /// A sign-in with a code: `more` are further members, each with a comma before it.
    package static func signIn(_ more: String = "") -> String {
        """
        {"client_id": "ccid-example", "code": "\(code)", "mccmnc": "310410", \
        "redirect_uri": "com.example.app://callback", "code_verifier": "\(verifier)"\(more)}
        """
    }
}
