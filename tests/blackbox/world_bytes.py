"""The bytes of worlds, made and read independently of the server: canonical CBOR, hashes, identities, signatures.

CBOR values are None, bool, int, bytes, str, list and dict, whose keys may be of any of these types that can be keys.
"""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import tempfile

PREFIX = bytes.fromhex("d9d9f7")


class Bad(ValueError):
    """Bytes that are not canonical CBOR."""


def head(major, number):
    for size, mark in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if number < 24:
            return bytes([major << 5 | number])
        if number < 1 << 8 * size:
            return bytes([major << 5 | mark]) + number.to_bytes(size, "big")
    raise Bad(f"{number} has more than 64 bits")


def enc(value):
    """The one encoding of a value."""
    if value is None:
        return b"\xf6"
    if value is True:
        return b"\xf5"
    if value is False:
        return b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, (bytes, bytearray)):
        return head(2, len(value)) + bytes(value)
    if isinstance(value, str):
        text = value.encode()
        return head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(enc(one) for one in value)
    if isinstance(value, dict):
        parts = sorted((enc(key), enc(one)) for key, one in value.items())
        return head(5, len(parts)) + b"".join(key + one for key, one in parts)
    raise Bad(f"no CBOR for {value!r}")


def _read(data, at, depth):
    if depth > 64 or at >= len(data):
        raise Bad("too deep, or too short")
    first, at = data[at], at + 1
    major, number = first >> 5, first & 31
    if major == 7:
        if number not in (20, 21, 22):
            raise Bad(f"simple value or float {number}")
        return {20: False, 21: True, 22: None}[number], at
    if number > 27:
        raise Bad("indefinite length")
    if number > 23:
        size = 1 << number - 24
        number, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        piece = data[at:at + number]
        if len(piece) != number:
            raise Bad("too short")
        return (piece if major == 2 else piece.decode()), at + number
    if major == 4:
        values = []
        for _ in range(number):
            value, at = _read(data, at, depth + 1)
            values.append(value)
        return values, at
    if major == 5:
        values = {}
        for _ in range(number):
            key, at = _read(data, at, depth + 1)
            value, at = _read(data, at, depth + 1)
            if key in values:
                raise Bad("duplicate key")
            values[key] = value
        return values, at
    raise Bad("a tag")


def dec(data):
    """The value of canonical bytes; Bad for any others."""
    value, at = _read(data, 0, 0)
    if at != len(data):
        raise Bad("trailing bytes")
    if enc(value) != data:
        raise Bad("not the canonical encoding")
    return value


def sha(data):
    """The hash of bytes: code, blobs, states, params, payloads, keys."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def H(value):
    """The hash of a structure: nodes, manifests, preimages of identities."""
    return sha(PREFIX + enc(value))


def b64(data):
    return base64.b64encode(data).decode()


def unb64(text):
    data = base64.b64decode(text, validate=True)
    if b64(data) != text:
        raise Bad("not canonical base64")
    return data


def event_hash(schema, value, key=None):
    return H({"schema": schema, "value": value, "key": key})


def idempotency_key(origin_name, instance_key, kind, params, seq, ordinal, index, requested=None, origin_kind="workflow"):
    """The 32 bytes that name an emission."""
    preimage = {"origin_kind": origin_kind, "origin_name": origin_name, "instance_key": instance_key, "effect_kind": kind,
                "params": params, "requested_key": requested, "seq": seq, "ordinal": ordinal, "effect_index": index}
    return hashlib.sha256(PREFIX + enc(preimage)).digest()


def intent_hash(kind, params, cap_name, key):
    return H({"kind": kind, "params": params, "cap_name": cap_name, "idempotency_key": key})


def grant_hash(cap, cap_type, params, expiry_ns=None):
    return H({"cap": cap, "cap_type": cap_type, "params": params, "expiry_ns": expiry_ns})


def signed(world_id, intent, adapter, status, payload, cost_cents=None):
    """What an adapter signs."""
    return enc(["receipt/v1", world_id, intent, adapter, status, sha(payload), cost_cents])


class HmacSigner:
    algorithm = "hmac-sha256"

    def __init__(self, secret=b"0123456789abcdef"):
        self.secret = secret

    def registration(self):
        return {"algorithm": self.algorithm, "secret": b64(self.secret)}

    def sign(self, data):
        return hmac.new(self.secret, data, hashlib.sha256).digest()


class Ed25519Signer:
    """By the openssl command, so that the server's own library is not asked about itself in-process."""
    algorithm = "ed25519"

    def __init__(self, seed=bytes(range(32))):
        self._der = bytes.fromhex("302e020100300506032b657004220420") + seed
        self.public = self._openssl("pkey", "-pubout", "-outform", "DER")[-32:]

    def registration(self):
        return {"algorithm": self.algorithm, "public_key": b64(self.public)}

    def _openssl(self, *words, **files):
        with tempfile.TemporaryDirectory() as folder:
            paths = {"key": os.path.join(folder, "key"), **{name: os.path.join(folder, name) for name in files}}
            for name, data in {"key": self._der, **files}.items():
                with open(paths[name], "wb") as file:
                    file.write(data)
            command = ["openssl", *words, "-keyform", "DER", "-inkey" if words[0] == "pkeyutl" else "-in", paths["key"]]
            if "data" in files:
                command += ["-in", paths["data"]]
            if words[0] == "pkey":
                command = ["openssl", *words, "-inform", "DER", "-in", paths["key"]]
            return subprocess.run(command, check=True, capture_output=True).stdout

    def sign(self, data):
        return self._openssl("pkeyutl", "-sign", "-rawin", data=data)


def test_entropy(seed, seq):
    """The entropy of a test world's frame."""
    return hashlib.sha512(seed.encode() + seq.to_bytes(8, "big")).digest()


def step_entropy(entropy, ordinal):
    return entropy if ordinal == 0 else hashlib.sha512(entropy + ordinal.to_bytes(4, "big")).digest()


def pawl_public_key(seed):
    """Of the built-in adapter of a test world."""
    return Ed25519Signer(hashlib.sha256(b"pawl-adapter/" + seed.encode()).digest()).public


def json_value(value):
    """A CBOR value as JSON: bytes are base64. For comparing a record with its bytes."""
    if isinstance(value, bytes):
        return b64(value)
    if isinstance(value, list):
        return [json_value(one) for one in value]
    if isinstance(value, dict):
        return {key: json_value(one) for key, one in value.items()}
    return value


def cbor_of_json(text):
    """JSON without a schema: of nodes and of signed payloads."""
    return enc(json.loads(text) if isinstance(text, str) else text)
