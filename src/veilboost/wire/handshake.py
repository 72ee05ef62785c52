"""Who is at the other end: mutual TLS, the name in the certificate, the deny list; and in words why a handshake failed.

Each side verifies the other's certificate against the authorities that it trusts; then it takes the name in it for the
name of the party, which must be one that it expects.
"""

import contextlib
import socket
import ssl
from collections.abc import Collection

from cryptography import x509

from veilboost.errors import PeerError
from veilboost.wire.certificates import called, clock, name_of, pem, reached_at, untimely
from veilboost.wire.channel import plain
from veilboost.wire.denied import is_denied
from veilboost.wire.party_keys import PartyKeys
from veilboost.wire.tls_channel import told

PATIENCE = 10.0
"""How long a handshake and the first message may take."""

_EXPIRED, _NOT_YET = 10, 9
_SELF_SIGNED, _HOST, _ADDRESS = 18, 62, 64
_UNKNOWN = {2, 19, 20, 21}
_NO_TLS = {
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "WRONG_VERSION_NUMBER",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "BAD_RECORD_TYPE",
    "UNEXPECTED_MESSAGE",
    "UNKNOWN_PROTOCOL",
}
_ALERTS = {
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "takes this party's certificate for expired",
    "SSLV3_ALERT_BAD_CERTIFICATE": "takes this party's certificate for bad, or not valid yet",
    "TLSV1_ALERT_UNKNOWN_CA": "does not trust the authority that signed this party's certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "takes this party's certificate for revoked",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "does not accept this party's certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "does not accept this party's certificate for this use",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "asks for a certificate, and this party showed none",
    "TLSV1_ALERT_PROTOCOL_VERSION": "spoke no TLS 1.3",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "shares no way of encryption with this party",
}
_CLOCKS = {"SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_BAD_CERTIFICATE"}


def server_context(keys: PartyKeys) -> ssl.SSLContext:
    """Return how a lead meets those who dial: nobody comes in without a certificate."""
    context = _context(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), keys)
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0  # every connection shows its certificate anew
    return context


def client_context(keys: PartyKeys) -> ssl.SSLContext:
    """Return how a partner dials: the lead's certificate must be for the address that was dialled."""
    return _context(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), keys)


def _context(context: ssl.SSLContext, keys: PartyKeys) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(keys.certificate_file, keys.key_file)
    context.load_verify_locations(cadata="".join(pem(each).decode() for each in keys.trusted))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def peer_of(sock: ssl.SSLSocket, keys: PartyKeys, expected: Collection[str]) -> str:
    """Return the name of the party at the other end, which must be ``expected`` and not denied."""
    try:
        certificate = x509.load_der_x509_certificate(sock.getpeercert(binary_form=True) or b"")
        name = name_of(certificate)
    except ValueError as error:
        raise PeerError("without a name", f"showed a certificate that {plain(str(error))}") from None
    if is_denied(certificate, keys.denied()):
        raise PeerError(name, "showed a certificate that is on this party's deny list")
    if name not in expected:
        raise PeerError(name, f"came where only {_listed(expected)} may come")
    return name


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(each) for each in sorted(names))


def server_problem(error: OSError) -> str:
    """Return in words why a handshake failed with someone who dialled."""
    if isinstance(error, TimeoutError):
        return f"did not finish its handshake within {PATIENCE:g} seconds"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"showed a certificate that {_unfit(error)}"
    if not isinstance(error, ssl.SSLError):
        return f"left before the handshake was done: {told(error)}"
    if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "showed no certificate"
    return _spoken(error) or _alert(error) or f"failed in its handshake: {told(error)}"


def client_problem(error: OSError, keys: PartyKeys, host: str, shown: x509.Certificate | None) -> str:
    """Return in words why a handshake failed with the lead at ``host``, which has ``shown`` this certificate."""
    if isinstance(error, TimeoutError):
        return f"did not finish its handshake within {PATIENCE:g} seconds"
    if isinstance(error, ssl.SSLCertVerificationError):
        whose = "" if shown is None else f" of {plain(called(shown))}"
        return f"showed a certificate{whose} that {_unfit(error, host, shown)}"
    if not isinstance(error, ssl.SSLError):
        return f"left before the handshake was done: {told(error)}"
    return _spoken(error) or own_certificate(error, keys) or f"failed in its handshake: {told(error)}"


def own_certificate(error: OSError, keys: PartyKeys) -> str | None:
    """Return in words what the other side has against this party's own certificate, if that is what it said."""
    problem = _alert(error)
    if problem is None or getattr(error, "reason", None) not in _CLOCKS:
        return problem
    first, last = keys.certificate.not_valid_before_utc, keys.certificate.not_valid_after_utc
    valid = f"it is valid from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
    return f"{problem}: {valid}, and the clock here says {clock()}; compare it with the clock there"


def _alert(error: OSError) -> str | None:
    return _ALERTS.get(str(getattr(error, "reason", None)))


def _spoken(error: ssl.SSLError) -> str | None:
    if error.reason in _NO_TLS:
        return "spoke no TLS"
    if error.reason == "UNSUPPORTED_PROTOCOL":
        return "spoke no TLS 1.3"
    return "left before the handshake was done" if isinstance(error, ssl.SSLEOFError) else None


def _unfit(error: ssl.SSLCertVerificationError, host: str = "", shown: x509.Certificate | None = None) -> str:
    code = error.verify_code
    if code in (_EXPIRED, _NOT_YET):
        known = None if shown is None else untimely(shown)
        said = "has expired" if code == _EXPIRED else "is not valid yet"
        return known or f"{said}, by this machine's clock, which says {clock()}"
    if code == _SELF_SIGNED:
        return "is signed by nobody but itself"
    if code in (_HOST, _ADDRESS):
        names = "" if shown is None else plain(", ".join(reached_at(shown)))
        return f"is for the addresses {names or 'of another'}, and not for {host}"
    if code in _UNKNOWN:
        return "no authority that is trusted here has signed"
    return f"does not hold: {error.verify_message}"


def certificate_at(address: tuple[str, int]) -> x509.Certificate | None:
    """Return what a server shows to anyone, unverified: only for words in a message."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(OSError, ValueError), socket.create_connection(address, timeout=PATIENCE) as plain_socket:
        plain_socket.settimeout(PATIENCE)
        with context.wrap_socket(plain_socket) as sock:
            return x509.load_der_x509_certificate(sock.getpeercert(binary_form=True) or b"")
    return None


def keep_alive(sock: socket.socket) -> None:
    """Let the operating system notice within about a minute that the other machine is gone."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
