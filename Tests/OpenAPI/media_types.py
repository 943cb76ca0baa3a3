"""Hooks of schemathesis for both runs (see run.py): how a body of a media type that it does not know is sent."""
import schemathesis

# Security event tokens (RFC 8417).
schemathesis.serializer.alias("application/secevent+jwt", "text/plain")
