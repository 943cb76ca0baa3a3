/// Certificates and keys for tests of TLS only. Most are valid until 2120.
public enum TLSTexts {
    /// The root certificate that clients trust.
    public static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATWgAwIBAgIUbkFq50oNSN3U6wagIETCMpOqQpswCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAT3e6gZU0btMXzZUT3VCsgAq52VMAAIrQEcXN/1elxz4l2PGw1UEtMU
        OmOOregR8duDUVx5+WdvErEgEVSq8tSjo2MwYTAPBgNVHRMBAf8EBTADAQH/MB0G
        A1UdDgQWBBTP3t61NUNSZbHarqctazbdZ7J/iDAfBgNVHSMEGDAWgBTP3t61NUNS
        ZbHarqctazbdZ7J/iDAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwIDSQAwRgIh
        AILdhPB++JFkcaYDnhiKKYpgWva8HjMg2BNVKNEB4fRwAiEAvUsdKN2rlkHHSMuH
        3TsXSd4zsETGuuk0yucQX7aJtCs=
        -----END CERTIFICATE-----

        """

    /// The certificate of `first.example`, localhost and 127.0.0.1, and the intermediate certificate.
    public static let chain = """
        -----BEGIN CERTIFICATE-----
        MIIBuzCCAWCgAwIBAgIUQtXsXnqVkFVCjJOXrsgc65UvXe4wCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRVGVzdCBJbnRlcm1lZGlhdGUwIBcNMjAwMTAxMDAwMDAwWhgP
        MjEyMDAxMDEwMDAwMDBaMBgxFjAUBgNVBAMMDWZpcnN0LmV4YW1wbGUwWTATBgcq
        hkjOPQIBBggqhkjOPQMBBwNCAASj36Hg1+2jcfUp/E2mhml0AmpUeGmd0Z2OjV/V
        c6l8oDqdAWKr2AGQgr+OKW3kigTBQdqjHMCig2fIpZeZU7OGo4GBMH8wDAYDVR0T
        AQH/BAIwADAdBgNVHQ4EFgQUvwQxU1m/xUDyFKeQq0e8xsZT1fgwHwYDVR0jBBgw
        FoAUMdw2GnRKdqUB2xIgicyTuEJ7AXIwEwYDVR0lBAwwCgYIKwYBBQUHAwEwGgYD
        VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0kAMEYCIQDlvNED
        nPSbTRqmi+Yzh4nas7baEO9xyH0ld6g0s//aSAIhAJiQ5UHvCJ3ZdMXCTAAjyVHp
        0JOTeTZNUzA2ck6WWv4h
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIIBlzCCAT2gAwIBAgIUBkYn+XfyOjNJ5D3UYz5uuI9kcbMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAcMRowGAYDVQQDDBFUZXN0IEludGVybWVkaWF0ZTBZMBMGByqGSM49
        AgEGCCqGSM49AwEHA0IABIq0jRe7XWOICxZsTt+gOVWNw4z172pMNugOoRHz+NhK
        5evukeewv5wRC30BNfrc7DRe0ZAWLZWIymFj9OdqRcCjYzBhMA8GA1UdEwEB/wQF
        MAMBAf8wHQYDVR0OBBYEFDHcNhp0SnalAdsSIInMk7hCewFyMB8GA1UdIwQYMBaA
        FM/e3rU1Q1Jlsdqupy1rNt1nsn+IMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQD
        AgNIADBFAiBbAs5uA+qZpfP2Y53DDPp2opvbmiUMTzRzBxJwV0YQTAIhAKvzPKf3
        pQpNw6gHzKfhQzbDNR/NQBp/VzsbZVc4awmI
        -----END CERTIFICATE-----

        """

    /// The key of ``chain``, ``expired`` and ``future``.
    public static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgguCan2DtrfNHH+/a
        UljOxMOaW8+JYnFRf/TuCKUWbzihRANCAASj36Hg1+2jcfUp/E2mhml0AmpUeGmd
        0Z2OjV/Vc6l8oDqdAWKr2AGQgr+OKW3kigTBQdqjHMCig2fIpZeZU7OG
        -----END PRIVATE KEY-----

        """

    /// The certificate of `second.example`.
    public static let otherChain = """
        -----BEGIN CERTIFICATE-----
        MIIBuzCCAWGgAwIBAgIUTmnlAEGt7XVKpthj/69T90r+ZUgwCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRVGVzdCBJbnRlcm1lZGlhdGUwIBcNMjAwMTAxMDAwMDAwWhgP
        MjEyMDAxMDEwMDAwMDBaMBkxFzAVBgNVBAMMDnNlY29uZC5leGFtcGxlMFkwEwYH
        KoZIzj0CAQYIKoZIzj0DAQcDQgAE90JBTHQ4spwCqpLA1OzCPzSBJkMWGSQ+FgQ2
        2x06tc11g4dSu2VqOevw2Bru2lxAF3Q5VvZ9V46hNNO4RS/g8KOBgTB/MAwGA1Ud
        EwEB/wQCMAAwHQYDVR0OBBYEFE2QDlFBTL0T/7nle19KmYcczCklMB8GA1UdIwQY
        MBaAFDHcNhp0SnalAdsSIInMk7hCewFyMBMGA1UdJQQMMAoGCCsGAQUFBwMBMBoG
        A1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAKBggqhkjOPQQDAgNIADBFAiBmN1rH
        HP4fgjmCmHEiEpC3Iw1q0sc6593OOqZ/CAKESQIhAO3lh1TnZY0I1Dq266lIO5Pm
        c5ObHrTOpmHmVA8Y/eUb
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIIBlzCCAT2gAwIBAgIUBkYn+XfyOjNJ5D3UYz5uuI9kcbMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAcMRowGAYDVQQDDBFUZXN0IEludGVybWVkaWF0ZTBZMBMGByqGSM49
        AgEGCCqGSM49AwEHA0IABIq0jRe7XWOICxZsTt+gOVWNw4z172pMNugOoRHz+NhK
        5evukeewv5wRC30BNfrc7DRe0ZAWLZWIymFj9OdqRcCjYzBhMA8GA1UdEwEB/wQF
        MAMBAf8wHQYDVR0OBBYEFDHcNhp0SnalAdsSIInMk7hCewFyMB8GA1UdIwQYMBaA
        FM/e3rU1Q1Jlsdqupy1rNt1nsn+IMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQD
        AgNIADBFAiBbAs5uA+qZpfP2Y53DDPp2opvbmiUMTzRzBxJwV0YQTAIhAKvzPKf3
        pQpNw6gHzKfhQzbDNR/NQBp/VzsbZVc4awmI
        -----END CERTIFICATE-----

        """

    public static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjaoMeSUI+vQoEzax
        OQTQ54z7FLqw+seoHv4vWb41S8WhRANCAAT3QkFMdDiynAKqksDU7MI/NIEmQxYZ
        JD4WBDbbHTq1zXWDh1K7ZWo56/DYGu7aXEAXdDlW9n1XjqE007hFL+Dw
        -----END PRIVATE KEY-----

        """

    /// Expired in 2021.
    public static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBujCCAWCgAwIBAgIURwquiXXdr8hHsTTA2ECZ3DPvPuAwCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRVGVzdCBJbnRlcm1lZGlhdGUwHhcNMjAwMTAxMDAwMDAwWhcN
        MjEwMTAxMDAwMDAwWjAaMRgwFgYDVQQDDA9leHBpcmVkLmV4YW1wbGUwWTATBgcq
        hkjOPQIBBggqhkjOPQMBBwNCAASj36Hg1+2jcfUp/E2mhml0AmpUeGmd0Z2OjV/V
        c6l8oDqdAWKr2AGQgr+OKW3kigTBQdqjHMCig2fIpZeZU7OGo4GBMH8wDAYDVR0T
        AQH/BAIwADAdBgNVHQ4EFgQUvwQxU1m/xUDyFKeQq0e8xsZT1fgwHwYDVR0jBBgw
        FoAUMdw2GnRKdqUB2xIgicyTuEJ7AXIwEwYDVR0lBAwwCgYIKwYBBQUHAwEwGgYD
        VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0gAMEUCIQDPDln+
        cDIS57kKLhhXbSG8aCPH0YpUWIfEV+Cw0nkRaQIgdR6ovO/V5cmkOCBTV0osjZjF
        aakY/+HRlOXQq1xw5BU=
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIIBlzCCAT2gAwIBAgIUBkYn+XfyOjNJ5D3UYz5uuI9kcbMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAcMRowGAYDVQQDDBFUZXN0IEludGVybWVkaWF0ZTBZMBMGByqGSM49
        AgEGCCqGSM49AwEHA0IABIq0jRe7XWOICxZsTt+gOVWNw4z172pMNugOoRHz+NhK
        5evukeewv5wRC30BNfrc7DRe0ZAWLZWIymFj9OdqRcCjYzBhMA8GA1UdEwEB/wQF
        MAMBAf8wHQYDVR0OBBYEFDHcNhp0SnalAdsSIInMk7hCewFyMB8GA1UdIwQYMBaA
        FM/e3rU1Q1Jlsdqupy1rNt1nsn+IMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQD
        AgNIADBFAiBbAs5uA+qZpfP2Y53DDPp2opvbmiUMTzRzBxJwV0YQTAIhAKvzPKf3
        pQpNw6gHzKfhQzbDNR/NQBp/VzsbZVc4awmI
        -----END CERTIFICATE-----

        """

    /// Valid from 2110.
    public static let future = """
        -----BEGIN CERTIFICATE-----
        MIIBvDCCAWOgAwIBAgIUZrjuRt4LZeObKCFOAZkxugb/UUUwCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRVGVzdCBJbnRlcm1lZGlhdGUwIhgPMjExMDAxMDEwMDAwMDBa
        GA8yMTIwMDEwMTAwMDAwMFowGTEXMBUGA1UEAwwOZnV0dXJlLmV4YW1wbGUwWTAT
        BgcqhkjOPQIBBggqhkjOPQMBBwNCAASj36Hg1+2jcfUp/E2mhml0AmpUeGmd0Z2O
        jV/Vc6l8oDqdAWKr2AGQgr+OKW3kigTBQdqjHMCig2fIpZeZU7OGo4GBMH8wDAYD
        VR0TAQH/BAIwADAdBgNVHQ4EFgQUvwQxU1m/xUDyFKeQq0e8xsZT1fgwHwYDVR0j
        BBgwFoAUMdw2GnRKdqUB2xIgicyTuEJ7AXIwEwYDVR0lBAwwCgYIKwYBBQUHAwEw
        GgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0cAMEQCIC6F
        JTZIxr5aayaDCdD53oRQnkeckgnxOVKZ0UzjdRanAiBdYCUx6E/elLBbp9UDnLNI
        tYMBttD5uxACwp218Mu4Sw==
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIIBlzCCAT2gAwIBAgIUBkYn+XfyOjNJ5D3UYz5uuI9kcbMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAcMRowGAYDVQQDDBFUZXN0IEludGVybWVkaWF0ZTBZMBMGByqGSM49
        AgEGCCqGSM49AwEHA0IABIq0jRe7XWOICxZsTt+gOVWNw4z172pMNugOoRHz+NhK
        5evukeewv5wRC30BNfrc7DRe0ZAWLZWIymFj9OdqRcCjYzBhMA8GA1UdEwEB/wQF
        MAMBAf8wHQYDVR0OBBYEFDHcNhp0SnalAdsSIInMk7hCewFyMB8GA1UdIwQYMBaA
        FM/e3rU1Q1Jlsdqupy1rNt1nsn+IMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQD
        AgNIADBFAiBbAs5uA+qZpfP2Y53DDPp2opvbmiUMTzRzBxJwV0YQTAIhAKvzPKf3
        pQpNw6gHzKfhQzbDNR/NQBp/VzsbZVc4awmI
        -----END CERTIFICATE-----

        """

    /// ``key``, encrypted with a passphrase.
    public static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBDx0J5boeDEQ1T9HnnK
        xOUPAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ8f+lq1Z/ycWtHs0a
        ggG9IASBkO9+KROEA6aYKFLO9e45QjkF2X3w9WclTJ5qZSkHcdacxuNCvOhZJz0h
        IKpTrkI96ujBXu2RxP2K5DeXOcWuZ9/wkUa+ijm/FZ+SRslSELiLNYYoDUc8E7fI
        rPxyU1Q/sXnI1bWQI/nBvYRBlMZf4MSkHPV1wJbuMRsdTTYOkZToyTW4u+BZVAeE
        eMOEa/xIRw==
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// The certificate of an RSA key of 1024 bits.
    public static let weakChain = """
        -----BEGIN CERTIFICATE-----
        MIICADCCAaagAwIBAgIUOI8LvmRJ7xSt/2kRsS9PJa8EyIwwCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRVGVzdCBJbnRlcm1lZGlhdGUwIBcNMjAwMTAxMDAwMDAwWhgP
        MjEyMDAxMDEwMDAwMDBaMBcxFTATBgNVBAMMDHdlYWsuZXhhbXBsZTCBnzANBgkq
        hkiG9w0BAQEFAAOBjQAwgYkCgYEA7gAkhrT0K9thEUWZyGEens753exovrGuFGBj
        8Pjp4ibVUGNS3K6pVV9XcL481bMNmeGj12RwRYWpPtBY+GyurBb6iK3B+qKLDvVp
        bnFYzKS3/qFZFgIgSInaf9Hot2so3pQ+H3LcIARh3V0VVPiI0vKCt8L5Z0+Zuome
        k2q8zzECAwEAAaOBgTB/MAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFBBQ2WaUbcN3
        fgTyd4YZlOZPsM59MB8GA1UdIwQYMBaAFDHcNhp0SnalAdsSIInMk7hCewFyMBMG
        A1UdJQQMMAoGCCsGAQUFBwMBMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAK
        BggqhkjOPQQDAgNIADBFAiEA2ImgeRO7VE+ZjmAB8GJRmuruksHDhj2FdXGU5W42
        O54CIAHyuKYZEk78kA/LRBzfuGN3V4dXCNyb8vaBzCBB9HgX
        -----END CERTIFICATE-----
        -----BEGIN CERTIFICATE-----
        MIIBlzCCAT2gAwIBAgIUBkYn+XfyOjNJ5D3UYz5uuI9kcbMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAcMRowGAYDVQQDDBFUZXN0IEludGVybWVkaWF0ZTBZMBMGByqGSM49
        AgEGCCqGSM49AwEHA0IABIq0jRe7XWOICxZsTt+gOVWNw4z172pMNugOoRHz+NhK
        5evukeewv5wRC30BNfrc7DRe0ZAWLZWIymFj9OdqRcCjYzBhMA8GA1UdEwEB/wQF
        MAMBAf8wHQYDVR0OBBYEFDHcNhp0SnalAdsSIInMk7hCewFyMB8GA1UdIwQYMBaA
        FM/e3rU1Q1Jlsdqupy1rNt1nsn+IMA4GA1UdDwEB/wQEAwIBBjAKBggqhkjOPQQD
        AgNIADBFAiBbAs5uA+qZpfP2Y53DDPp2opvbmiUMTzRzBxJwV0YQTAIhAKvzPKf3
        pQpNw6gHzKfhQzbDNR/NQBp/VzsbZVc4awmI
        -----END CERTIFICATE-----

        """

    public static let weakKey = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAO4AJIa09CvbYRFF
        mchhHp7O+d3saL6xrhRgY/D46eIm1VBjUtyuqVVfV3C+PNWzDZnho9dkcEWFqT7Q
        WPhsrqwW+oitwfqiiw71aW5xWMykt/6hWRYCIEiJ2n/R6LdrKN6UPh9y3CAEYd1d
        FVT4iNLygrfC+WdPmbqJnpNqvM8xAgMBAAECgYBE+GWdY/MegoSurKzUFND61KA0
        X747BOKdpRFRU9DzaK2IjkAFE9ielPKSCY83npvibDE+yix++S0Ctv4Rf+1eAnWy
        OJcidrfO1maa96hPrlTADGtoxovrzPSaKJHnYYAq5cbMgCO+u+v5v0b969JA0eoi
        CtPk6bjfJs0Sf/T6wQJBAPrRpU1I5CZw40+i3AOejqU9RnY04lPkWNt5ZflkAW/X
        gQwShuXXrIzIFI0LvHF9yfSRvfL3/pSyuTUdSrtGkZ8CQQDy6rZTMOe2oD4A7jyd
        j986upRaAMMTGrEEbRUjn+LLjZX1D4c0KHuqySfFda8iieTrPv60wEfDxlHHggVv
        vQ0vAkB20DrS2nWhNBap0ccRO9nsspMfSbvw65mgFejVc6cumNJ7qocWd804P0tk
        6StSQ7kYTrXBU/LX87XCUGbnQe2XAkEAifRYFUjJ30KD0/14eTby3KSHidGy94+K
        Bmx4u+GaaGWBS0pFS47OJMDWkGJ0UtYjJqKA/l/QodNoMDicI8gmywJBAJZxr9ar
        N5uifs9cWvlfv/iyVxjxZRMmD8PVFgOSAAHKPLvzQ4F5q1x8MOdACzbU7f00W+82
        4kbSaxr/ooLI1eA=
        -----END PRIVATE KEY-----

        """

    /// The certificate of the client `service-1`, issued by ``authority``.
    public static let clientCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBkjCCATegAwIBAgIUUQAsnIgE5cTPEinR3xNFO0WbF30wCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
        MDAwMDAwWjAUMRIwEAYDVQQDDAlzZXJ2aWNlLTEwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAQJAvi49okcpnjbGgyxaoyVUGh7Tjudh+rhNpxO9J2qMd4X13uSVB+q
        /iLVFmoyJYCUIDei4pcNZzoOZkJBqAOio2UwYzAMBgNVHRMBAf8EAjAAMB0GA1Ud
        DgQWBBSecEL0PrSm4qAgVfzbfRWYV393xTAfBgNVHSMEGDAWgBTP3t61NUNSZbHa
        rqctazbdZ7J/iDATBgNVHSUEDDAKBggrBgEFBQcDAjAKBggqhkjOPQQDAgNJADBG
        AiEAwT22VElGWfHBjR3ve3lx0vRioINxFmt52jo2RkT6xU8CIQDwvO7lxCYI+A3+
        XNlZS77q8vVTQfes4Z1VQ+YYir1X0A==
        -----END CERTIFICATE-----

        """

    public static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgT+V97ZJLLtpAO54g
        iJarHbuKn1/cZH3UWXOA21EC8AqhRANCAAQJAvi49okcpnjbGgyxaoyVUGh7Tjud
        h+rhNpxO9J2qMd4X13uSVB+q/iLVFmoyJYCUIDei4pcNZzoOZkJBqAOi
        -----END PRIVATE KEY-----

        """

    /// The certificate of a client of the same name, issued by an untrusted authority.
    public static let strangerCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBlDCCATqgAwIBAgIUK0uu4lVpdtCCYE1tsJDwHCxBKaIwCgYIKoZIzj0EAwIw
        FzEVMBMGA1UEAwwMQW5vdGhlciBSb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAw
        MTAxMDAwMDAwWjAUMRIwEAYDVQQDDAlzZXJ2aWNlLTEwWTATBgcqhkjOPQIBBggq
        hkjOPQMBBwNCAASKxuJsRhR3MKk1hOeSUCNopjavyg5UM/YOXarvaAlFzgM1jMeR
        0+McwNzsKpTBL+M/3/ddYjtuoSfu13IVxpoEo2UwYzAMBgNVHRMBAf8EAjAAMB0G
        A1UdDgQWBBRuKexkb5h7LpBRcVO+cGpPdAX92zAfBgNVHSMEGDAWgBQmNBPLDStU
        0Rm7M2URo/qAFKkagjATBgNVHSUEDDAKBggrBgEFBQcDAjAKBggqhkjOPQQDAgNI
        ADBFAiEAvfk7At/RcAKncPB9tm4xFbBUX57QiFDwBqa7/+4XFuICIEqfMOgcdehw
        6aBHO9CyvJByK/7vPrFkhpkGa38eqxli
        -----END CERTIFICATE-----

        """

    public static let strangerKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEm6ZxCVSQ1oJsiAa
        RISbfH4I7WCeyI2bHi7kXkl5lnmhRANCAASKxuJsRhR3MKk1hOeSUCNopjavyg5U
        M/YOXarvaAlFzgM1jMeR0+McwNzsKpTBL+M/3/ddYjtuoSfu13IVxpoE
        -----END PRIVATE KEY-----

        """
}
