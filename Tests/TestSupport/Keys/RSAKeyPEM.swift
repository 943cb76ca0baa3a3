/// RSA keys of 2048 bits for tests only, made with `openssl genrsa -traditional 2048`: to make one takes as long as
/// many tests.
public enum RSAKeyPEM {
    public static let first = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEpAIBAAKCAQEAsV5rv4XbwubFno/qpxZgW+vk/HXl0Va+MatibVlA1tQ/4Rxm
        NBm5vuVj87JQUm3wuEHyJaqPgFazEZXRTZjQsQpbqCLMlY20UxONI+1C80KinFSt
        +P+cGbgc4a4a5rlTAD36HEOUw87Lc1snS20uy009tkOnvtVqzgrDxzSAJduO7eIf
        sddi9YILmHhS/qhgMJrso7l7k95/ProdlH873cTwXus73XNvrTeddBC2g016AoG6
        coQVDZpDyBENivREvW/J8udPcB+4QZMZyN4GFmmV0hRLZPBtFCKurE2n+oKN5hSq
        46YY/UHOFWaQRuwQRf6y2r+iug1cB3gohKcmqwIDAQABAoIBAFd/v4Lfm77GDqZ+
        0+Eywj2GnVPIK6Q+eRxSsn9EQR7Z3VuFoYvBRyc7zbe6dzJ65v5XFghr4FgNLVCX
        CoaPxSAZfobvB+MdYWB8bCvVj6om7MZXZe3I126+q4zP0ZiRwzcC3CBWXIzONwLE
        7JkilyuXAsMoFBgp+4MCv3tF1JQXrk6w8wzEU/pyXesJDudczzwbkbTvFd98vM0Z
        cZ0Zn4FZUE/yWuOaF0OH5EAu2qEiR3sIiyr2BGMkZd9xjHo2HqHQAf/lWu6tJMZQ
        KJh/h+1ye+nAFhvroxyEXNQ/gJ1ER6egrvHPHpJu98tm3VC+1LE9WuKvR70t9dBu
        OLiQnT0CgYEA28TSjBuBvnqLm8GrVaznUKKWv9bw9Cz3ErZB76oQkHA/9mGNVNRI
        Nft2hhmKTIeMhYnsLrXEEkE8ih7KD1sgNeY6e2s3GeM4FgBxbalsHSpWNvOSk0Ov
        x78qlT6dhyarNcFcAd5rP8zZu0yy9Z90Z5tS8eJsvZgzzGKr8GKmHh8CgYEAzpwj
        ZNcfVFmHeNW+bKh3AkC3W5zH34wJHh7IdN/hIG16MdCnvsGUlA5dUcYNu+CwonWl
        dLcNKc5gBXq9FPgtp2PAZlIyq88LjBqBydOonxK0lSqf44eT5dIUx8RZrJsPeyyk
        DXB5Rs32hDGXzTD7YwiGczd8c1HselAbrm3DTfUCgYEAiR2G46Vx0J7ypa4ysNSc
        yaF3fp+jXCUFziXqg5ZOmV9/eMAqhqefmhaXP1mGAPN9R//iXM5JU75iACbvmJ8Z
        PKe1CzW8filW39tM6cePza6Rdd2IMNtFO9HYxp73d9A3d+V4+y2DKp4rpoFXEop2
        /QFawdGsWKoyfy186xERZa8CgYEAvl1evyr20uEq0UsfiT4vaQP37ZEnF/IO9JGo
        YQdmhlpYnE2EQV5bZ49UrGOvg8wi840yRbfjiQF9t46/aPLCHdjrDVvvFB5QpWZG
        7471bpvthwMfDqV8v+QxAV8IwOCeAv++qCNZmsNqv6JyG71l4nmYZ9BX+mkhWhE1
        cCHyMYECgYBX30GctXEfUykq/XUi7AD7g8cttrzWU8tTw6DNzGG+m7+v07zjlIfP
        Ip6TeAfS6T/rgEuJo9MqoxGACvb0kOxNCpwZffDaX/fKxM30fGxPIsasJWIVxqUr
        WesqrBgCWWr2FUs0y6CMGkIRinKaqofVbUGDcpmOdD+0elr3cmWOcg==
        -----END RSA PRIVATE KEY-----

        """

    public static let second = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEAnDFbAuP21s4OrdumuwE64EZDuOc7juaEBGPvB4nVB4StXRjI
        kGHmp8st0SwtJAcPhRVlYrr9DZJ04wYrIlGXly5YJsvTVXQePCEfVrqkiv+KebBR
        CC1Z3ebh/N0WllmO+DFpqkv9q5wwlUqIvmuGsA+L+lhhl24aWsEg6qqLXnkPNb4J
        qTf/DwuwymAiH9LGYOTxwFMA5UlMvmAdT/AByKExTe73csSLiL5YoB44UFUdV0dc
        zGs83Y4xNHDkvgrTGeMOG8ASS6Y3o0WlzJuIbTVw9MVyVdx1CvaOlJgkFehks6hQ
        CRUPYHeNYLQFq7vEcrDMz5KFQBohF9lNdQ2D/QIDAQABAoIBACOh4thi90ID2jdx
        f7Tzz+GwRezd26l7Dy0NO0+l8xJ3AzHU4JSHsR4gbQBmKpoofjLnMaz3aZl6Cu5r
        ztVSddnIedXH9BtvlSI0kDix9a28JHQkdCgAaJsF/BI6wddk8QfQBgISufk3daHp
        Ug7W6vApa86d8Q2h0aNYodDHPWo8qm6hZHRW5AQ6wHg1H4L/mEy/DfrIUF24S4nd
        zrEqJh9N66y2aLC7Fg1h/FWw8ufjaG+asEQr2hHTxsdQrFsj8yCIbgQRUI9Rg8tn
        1LQCovMD1R1T5oogwiDsz87Vky77YKiifWiAPGFjZD8imxwxCDsfvWiTcie5hP2w
        Aqd8AuUCgYEA1z3xGb9pKvReiaHBNijzf5vSxIbZxSlPwVywN3lZ+sGEfTCEVDhi
        bc1uwezb926mIPK1zf5CaUuwcWraP8PLNl+xzdSVw4oQfuoRY2HNhcYIiIlLAtBx
        FEkf3vqXT/sHSXQEbgs2QZ9c4lwRIy7cXiMn+0RkiH7G47bZAn6Cdx8CgYEAucTz
        DPU0pon1yszQ/jcHWvf4bdBRkylk3U9616lD5w1YEWe1yCRZraxhHCRmbFvQTQpD
        CSpywfknAaOwOzKCE9ustnd/KBC9yVnSDzkteDSlZbzGr1HKKg5PJeP7wot3yp45
        DdwlGBKlWajclWwkNUk3eiCcbsWK+ou9N743LWMCgYEAq4PZXroPVMI7nxK9Qqop
        NpN1xVLrr1d3DU8NwHa7w7x3FccWe4IetP6RdoiG08lhKjods1MbmopMxGPwHAWq
        Jd7lcW4oFRQshuWAC6CAxEuEu0Aj/M8afJ60fdtTvdD8AoUnjoTyrCIQQvQ4V7/c
        rEr5bhkWv0m+tPAcRweGcOMCgYB1Rw8iGRNaKDKSC2fNdbQhC/c8bI1zWGijBvBI
        gkWp8lSs+EpcxgYPjInqGFjJA9WnLVlQygmUx9SGRm6VkLdqDf8lWp9eDeOi4B+r
        GK/J+YKJjfno6Lu2fT4eb6WbFi1ULztZsqeAYRUeW2qWsqTRNx3c7gWUMQYiUmHs
        dRukfQKBgDKblH423f0TlUg4l7w6F/eBr+KQM56CuAqM+p/+bBGzc8/yeu3mGVtB
        dOVuqDutvWwKKodosuFlNS1swJVJQoh9HZRL74p3+uHTEI/PLNcjMkhLGAEurxRj
        N4e4xJRbo0bBfTT/gQ+oaYZSkC0c4uX4CNQn7zRctWPkxf0yHvBt
        -----END RSA PRIVATE KEY-----

        """

    public static let third = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEpAIBAAKCAQEAj8+geTTDp8uSghAP1Pev2AURnla4n4D/3D2hPwjcYkQdV+b9
        yz1Hkvs1tsduCQPTwrj8OsMYCnhhU/Zt80yQurhBWzKTkt95JPuZ3bRf6fljO7ZC
        uDUTTdT6IFiLu96RyyV6j9AVLhxwHSBkN40oSuT9U477gk4/4S+LhGhHM3dXc+bX
        c1wx53dFoubaFsAFQ0bWBLuqliGEN/TWhg2r+kTh/qsKEmDxcX+TjC6sDe/I2qyr
        aFW1FVmOtARC0yy4KCGhUDXXSSS3/fWllisqJdj3M1SoEeOEzAjttridDgT3sk9a
        O2rl7X0xRlij6w9ThNhqf3NTdVJOa7j1qGqyZQIDAQABAoIBAB89Zqo9xIzkQ4i+
        bXoBbjD6dOfVBdkcYDhbKPZ0+c7c5hTsyFAImU48BOCWNPh/XNZtcdlf/Q51NQtU
        unDCPqRZF1V0yKr8oaffgf6vyrAcbSqQ/rBeUzmynL0/Due6QyiClTu9Y4R3SAGD
        wlFw+AJA+SjYJBmb3vOPbPrP3ju3Cyrvec47RdWHRAzxOOVeHubt1T3up8Mz1rHe
        EFzVlU8Bh/+D9A7xa3p9Jnod6PzfhbPkfcu9Xa5evEFZm3NgnHVrPl2Q2pcGldMV
        Z73tfahl9t9wVLCODPtsAhuUmnCe+veCTWN89Oj6Dv0ne7cjq/Fv5eC4Utmax1wL
        BC8cAVcCgYEAwJf0jyuiN7YKLiuu5T0xgxT00ClZUMxo3la5EEdDGMHIp8i9mrHN
        9Mlfr2iC9tQItPn8kYCr/Qa+yeKdjcmO8b43zXptcj0RKeP1Es6zJMataHSXCvqu
        +LS4BFvQ1dflF+IPaC4FntmItm/PvEWhInA0NnbaTUp8CfWWdA1pew8CgYEAvyg2
        2ieuZVCrAIjz7wNYrwbq8DOyBCkWM24U2SxQ2krturfCDWLwbnmhQ03SjArcl8JC
        SoGIFc07kfRaAar8Nc+0n24c6DWsqkIdpz7h/LA/oStZFU+eiok/9ojGBpNl92EG
        z0m6UznX8W8jmxzi9L2A9kNy9H4Lzy+4PzImC0sCgYB3nqneNsq1cZKXJLinVz+m
        W+DGXbhE0AEef5zIOIq7GLlJRQxGxcLXFDAjIXWeWwnhZhdyRAoOyR69A8y54QOw
        sGW2cSEDQFyluRlhihKIeAICi8+4mQUOIijdRC3MdCCtmdHZ8iO5iwE31vCezlyL
        qEc1wNJMCURLZ0cAY8gtDwKBgQCEzdCF8YmUs92JypwGUsHbH6g7Zv7nKxBUfMcZ
        NlOZxPKyhRXZLQKzDed+leOQDb/B42Eg2CsOUn5vYV7ix8LfM8Vd+ic1II0r4DEv
        z107q8sZEr+aMa2Iu9/nTJCfYuo1WoBbpPJA/e/LuZX4HrKCq+GbtbJ4r9VOhO2x
        YgrSTwKBgQCIn2BrEZJAADhWM3mZWhrIxk47aCGBVIFBpHdQ6Mpd/8JXr3BkonyB
        I06QSWkdhLe+eGkcmq38Z/yp5S6SCQwczQHgNy90Fd6OsYHKvZmpkJBvPDLbeR8m
        Uzz5aGSzZPt6k1tIW4GCNcqXunxOjETC2HPimXrNXPbvzr+NDyqtLA==
        -----END RSA PRIVATE KEY-----

        """
}
