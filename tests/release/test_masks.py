"""Keys of sites and the masks between them."""

import hashlib
import hmac
import json
import os
import stat

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import FileError, RecordError, Refusal
from sfumato.release.masks import MODULUS, SiteKey

STUDY = "5a" * 32
NAMES = ("Ålesund", "lima", "Oslo 2", "rome")


@pytest.fixture
def keys(tmp_path):
    return [SiteKey.create(tmp_path / f"{i}.key", name) for i, name in enumerate(NAMES)]


def masks(keys, study=STUDY, size=6):
    return [key.mask([other for other in keys if other is not key], study, size) for key in keys]


def test_masks_cancel_in_the_sum_of_all_and_in_no_other(keys):
    every = masks(keys)
    assert [sum(column) % MODULUS for column in zip(*every, strict=True)] == [0] * 6
    for left_out in range(len(keys)):
        some = [mask for i, mask in enumerate(every) if i != left_out]
        assert min(sum(column) % MODULUS for column in zip(*some, strict=True)) > 1 << 80


def test_masks_are_fresh_for_every_study_and_the_same_for_one(keys):
    assert masks(keys) == masks(keys)
    first, second = ({x for mask in masks(keys, study) for x in mask} for study in (STUDY, "5b" * 32))
    assert not first & second


def test_a_mask_is_the_stream_of_hkdf_and_chacha20(keys):
    """By another HKDF, and ChaCha20 of another package: what two programs must agree on."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from randomgen import ChaCha

    one, other = keys[1], keys[3]
    private = X25519PrivateKey.from_private_bytes(bytes.fromhex(one.private))
    secret = private.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(other.public)))
    extracted = hmac.new(bytes.fromhex(STUDY), secret, hashlib.sha256).digest()
    derived = hmac.new(extracted, b"sfumato site mask 1\nlima\nrome\x01", hashlib.sha256).digest()
    stream = ChaCha(key=int.from_bytes(derived, "little"), rounds=20).random_raw(8).astype("<u8").tobytes()
    expected = [int.from_bytes(stream[i : i + 16], "little") for i in range(0, 64, 16)]
    assert one.mask([other], STUDY, 4) == expected
    assert other.mask([one], STUDY, 4) == [-x % MODULUS for x in expected]


def test_masks_look_uniform(keys):
    numbers = np.array(masks(keys, size=5000)[0], dtype=object)
    assert stats.kstest((numbers >> 64).astype(np.float64) / 2.0**64, "uniform").pvalue > 1e-6
    assert stats.kstest((numbers % 2**64).astype(np.float64) / 2.0**64, "uniform").pvalue > 1e-6


def test_a_key_is_for_its_owner_alone_and_never_overwritten(tmp_path, keys):
    path = tmp_path / "0.key"
    before = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SiteKey.load(tmp_path / "0.pub").private == ""
    assert keys[0].private not in (tmp_path / "0.pub").read_text()
    assert keys[0].private not in repr(keys[0])
    with pytest.raises(Refusal, match=r"0\.pub: is there already, and no key is overwritten"):
        SiteKey.create(path, "other")
    (tmp_path / "0.pub").unlink()
    with pytest.raises(FileExistsError):
        SiteKey.create(path, "other")
    assert path.read_bytes() == before
    os.chmod(path, 0o640)
    with pytest.raises(Refusal, match=r"others may read this key; keep it from them \(chmod 600\)"):
        SiteKey.load(path)


def test_a_key_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        SiteKey.create(tmp_path / "open.key", "open")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "open.key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "point", ["00" * 32, "01" + "00" * 31, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"]
)
def test_points_of_small_order_are_refused(keys, point):
    with pytest.raises(Refusal, match=r"the key of eve is none that a site can have made. Nothing was charged"):
        keys[0].mask([SiteKey("eve", point)], STUDY, 3)


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".hidden", "a\\b", "a\n", "x" * 41, "ﬁn", "a ", "CON:", "\u202eb"])
def test_odd_names_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="the name of a site is up to 40 letters"):
        SiteKey.create(tmp_path / "site.key", name)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("change", [{"public": "zz" * 32}, {"private": "00"}, {"name": "a/b"}, {"name": "other"}])
def test_a_damaged_key_is_refused(tmp_path, keys, change):
    path = tmp_path / "1.key"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RecordError, match=r"key of a site (is incomplete or altered|was altered)"):
        SiteKey.load(path)


def test_a_public_key_has_one_spelling(keys):
    """X25519 leaves out the highest bit: with it set the key is the same, and would pass for one of another site."""
    same = keys[0].public[:62] + f"{int(keys[0].public[62:], 16) | 0x80:02x}"
    with pytest.raises(ValueError, match="its public half has its highest bit clear"):
        SiteKey("eve", same).check()


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.files.base.import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(FileError, match="a study of sites needs the package cryptography: pip install cryptography"):
        SiteKey.create(tmp_path / "a.key", "a")
