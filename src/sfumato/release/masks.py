"""Keys of sites, and masks that each pair of sites can compute and that cancel in the sum of all (Result 13).

HKDF (RFC 5869) makes of the X25519 secret of a pair (RFC 7748), of the hash of the study, which stands for its round and
keys, and of both names a key of ChaCha20 (RFC 8439), whose stream is read as whole numbers modulo 2^BITS.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from ..errors import Refusal
from ..files.base import package
from .document import Document, hash_of

BITS = 128  # of the numbers that parts are made of
MODULUS = 1 << BITS
NAME = re.compile(r"\w(?:[\w .-]{0,38}\w)?")  # also of files, on any system


def _primitive(name: str) -> Any:
    return package(f"cryptography.hazmat.primitives.{name}", "a study of sites")


def code_of(text: str) -> str:
    """Return a hash to be read aloud: 160 bits, so that nobody can make two things that have the same one."""
    return "-".join(text[i : i + 4] for i in range(0, 40, 4))


@dataclass(frozen=True, repr=False)
class SiteKey(Document):
    """The key of a site, in a file that only its owner may read and that is never overwritten; its public half is for all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = SiteKey.create(f"{folder}/oslo.key", "Oslo")
    ...     made.public == SiteKey.load(f"{folder}/oslo.pub").public
    True
    """

    name: str
    public: str  # 64 hexadecimal digits each
    private: str = ""

    format: ClassVar[str] = "sfumato site key 1"
    noun: ClassVar[str] = "key of a site"

    @classmethod
    def create(cls, path: str | os.PathLike[str], name: str) -> Self:
        """Make a key from the operating system's randomness, and write it, with its public half beside it as ``oslo.pub``."""
        secret = _primitive("asymmetric.x25519").X25519PrivateKey.generate()
        made = cls(name, secret.public_key().public_bytes_raw().hex(), secret.private_bytes_raw().hex())
        made.check()
        public = Path(path).with_suffix(".pub")
        if public == Path(path) or public.exists():
            raise Refusal(f"{public}: is there already, and no key is overwritten; choose another name, as oslo.key")
        made.save(path, overwrite=False, mode=0o600)
        cls(name, made.public).save(public, overwrite=False)
        return made

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a key, or its public half; a key that others may read too is refused."""
        made = super().load(path)
        if made.private and Path(path).stat().st_mode & 0o077:
            raise Refusal(f"{path}: others may read this key; keep it from them (chmod 600), or make another one")
        return made

    @property
    def code(self) -> str:
        """The fingerprint of name and public half."""
        return code_of(hash_of(f"{self.name}\n{self.public}"))

    def check(self) -> None:
        if not NAME.fullmatch(self.name) or unicodedata.normalize("NFKC", self.name) != self.name:
            rule = "up to 40 letters, digits, spaces, points and dashes, a letter or digit first and last"
            raise ValueError(f"the name of a site is {rule}, not {self.name!r}")
        if not re.fullmatch("[0-9a-f]{62}[0-7][0-9a-f] ([0-9a-f]{64})?", f"{self.public} {self.private}"):
            raise ValueError("a key is 64 hexadecimal digits, and its public half has its highest bit clear")

    def mask(self, others: Iterable["SiteKey"], study: str, size: int) -> list[int]:
        """Return what hides so many numbers of this site: of each pair one adds those of its stream, one takes them off."""
        total = [0] * size
        for other in others:
            sign = 1 if self.name < other.name else -1
            total = [x + sign * y for x, y in zip(total, self._stream(other, study, size), strict=True)]
        return [x % MODULUS for x in total]

    def _stream(self, other: "SiteKey", study: str, size: int) -> Iterator[int]:
        names = ("asymmetric.x25519", "hashes", "kdf.hkdf", "ciphers", "ciphers.algorithms")
        x25519, hashes, hkdf, ciphers, algorithms = map(_primitive, names)
        try:
            key = x25519.X25519PrivateKey.from_private_bytes(bytes.fromhex(self.private))
            secret = key.exchange(x25519.X25519PublicKey.from_public_bytes(bytes.fromhex(other.public)))
        except ValueError:  # a point of small order, with which every secret is 0
            raise Refusal(f"the key of {other.name} is none that a site can have made. Nothing was charged") from None
        info = "\n".join(["sfumato site mask 1", *sorted((self.name, other.name))]).encode()
        derived = hkdf.HKDF(hashes.SHA256(), 32, salt=bytes.fromhex(study), info=info).derive(secret)
        stream = ciphers.Cipher(algorithms.ChaCha20(derived, bytes(16)), mode=None).encryptor()
        content = stream.update(bytes(BITS // 8 * size))
        return (int.from_bytes(content[i : i + BITS // 8], "little") for i in range(0, len(content), BITS // 8))
