/// An RSA key made for tests of the configuration and used nowhere else.
enum RSAKeyText {
    private static let numbers: [(name: String, lines: [String])] = [
        (
            "n",
            [
                "0Pn9teGKrXPD0PBsssOV3e1bVEdfJKmzcKnWQxhcLvDZejEnfydCy-",
                "rM_Vs9ELNjXTnTLJPg9rcwArjmIyKXncENchuLqKaUFyEAcr_VSUKVlNZDW_CgTiY5eiISPKe-VvMelnEUaJmXiz9gavqAbBezk2",
                "Ce_oP6eNkP3Hyrs0EJpsvYfGZS9fB6HIPMEPqZbH7Ql8e9qscPGRUNWZxYFeZr4Gl4zU_Q3FPi0JwVITyKX8zPNSegIqgR3yNfDx",
                "5uOqHf_k5jAoEjKrQqNFPJ3hyCxzewIk7JiG33Wlm6Zmjw4i9sRXwmjXj1Wn6VNiy_W9PFsFP8tmkQRssZwqd47Q",
            ]
        ),
        (
            "e",
            [
                "AQAB"
            ]
        ),
        (
            "d",
            [
                "B43R1v5FJgn2PRpDw56AT1piH8TIsqmTu_HXtesugd_g7KLUO6tupbJiIJJova7OW7NYZ9ccna53hNGsN_7rHh-",
                "5XbOTM9B5r_BYdM1sZ06J26x3GN603L5S-5A5uomRvtDg_S0vQKy0pqru0E8nz0B4FE680JRyvGWURjMXfc4-",
                "SEUxcfqegJL5sfDAzf5e753v2J73yRAyt2c5etIHW64HN1sSrOqEMD1d2F0I1OIPFgPzS7Xc6F5am60TI7Lzz_eZERMPwo1spdqy",
                "mFPlrkPdRLOESUXOm7uF91B8McnDNcpwOSRfQHqV6hstmHR2Y9GA4cSDnPMoD63Ig9O_nQ",
            ]
        ),
        (
            "p",
            [
                "-H4CAvlzF4mWZegX0pejF-gLtgCCDOF3joQC8fN98XkWA_zqwa78GstLDbyl7E8M9qo0AY66-yy15dHc4N09NMCU7qZEnBtJhK-",
                "qIlvxibosy0g9desy2G0OXZZYGGBLJ8-9Iz3KFAjQQ_Dski_oi3dBLPDd_vc596pEgnP4OU8",
            ]
        ),
        (
            "q",
            [
                "10pYLtxPktMs_N9UAx5xO36FGaqHBkKqn2xWakeXFlqHsOW7qL9RwTkse9j48rDObqLKQyaRwEaIRfvNsvQqiy5BIh2QAinDic-",
                "Btx6t5LO1adiVn2Jun1p3uyyrj2hZi07_2HlrygY-USl6s9q2Al6x2-73MVm8-yDPns5HIwM",
            ]
        ),
    ]

    /// A JSON Web Key with this `alg`.
    static func jwk(alg: String) -> String {
        let members = numbers.map { "\"\($0.name)\":\"\($0.lines.joined())\"" }
        return "{\"kty\":\"RSA\",\"alg\":\"\(alg)\"," + members.joined(separator: ",") + "}"
    }
}
