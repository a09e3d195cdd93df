"""The studio without a browser: what it answers, to whom, what it reads, and what it spends."""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.app import cli
from sfumato.app.request import Request, as_option, from_page, in_page, wish_of
from sfumato.app.studio import server
from sfumato.app.studio.foreseen import of_groups, plain
from sfumato.app.studio.previews import _errors, of_region, of_release
from sfumato.app.studio.studio import LOOKS, Job, Studio
from sfumato.errors import Fix, Refusal
from sfumato.mechanisms import choose

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"


class Client:
    """Requests to the server in this process."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **more):
        async def one():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app)) as client:
                return await client.request(method, HOME + path, **more)

        return asyncio.run(one())

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, **more):
        return self.request("POST", path, **more)


class Page:
    """The page's side: the same requests that it makes."""

    def __init__(self, file="", ledger=""):
        self.studio, self.stopped, self.told = Studio(file, ledger), [], []
        self.guard = server.make_app(lambda: self.studio, lambda: self.stopped.append(True), PORT, self.told.append)
        self.client = Client(self.guard)

    def get(self, path="", **headers):
        return self.client.get(f"/{self.guard.token}/{path}", headers=headers)

    def post(self, what, choices=None, more=None, **headers):
        body = json.dumps({"choices": choices or {}, **(more or {})})
        return self.client.post(f"/{self.guard.token}/api/{what}", content=body, headers={"origin": HOME, **headers})

    def ask(self, what, choices=None, **more):
        """What a request answers, or one part of all that the page shows of a plan."""
        answer = self.post("look" if what in LOOKS else what, choices, more)
        assert answer.status_code == 200, answer.text
        if what not in LOOKS:
            return answer.json()
        found = next(part for part in map(json.loads, answer.text.splitlines()) if part["part"] == what)
        assert "refusal" not in found, found
        return found

    def refused(self, what, choices=None, **more):
        answer = self.post("look" if what in LOOKS else what, choices, more)
        if what in LOOKS and answer.status_code == 200:
            return next(part for part in map(json.loads, answer.text.splitlines()) if part["part"] == what)["refusal"]
        assert answer.status_code == 422, answer.text
        return answer.json()["refusal"]

    def release(self, choices, confirm="release", seen=None):
        job = self.ask("release", choices, confirm=confirm, seen=len(self.studio.jobs) if seen is None else seen)
        for thread in self.studio.threads:
            thread.join()
        return self.get(f"api/job/{job['id']}").json()


PLAN = {
    "files": "wings.tps",
    "unit": "one wing",
    "center": "reference.tps",
    "radius": "0.2",
    "n": "120",
    "epsilon": "1",
    "ledger": "study.ledger",
    "out": "mean.json",
}


def charges():
    return [entry for entry in sf.Ledger("study.ledger").verify().entries if entry.kind == "charge"]


# -- who is let in ------------------------------------------------------------------------------------------------------
def test_the_page_and_its_parts_load_with_strict_headers(studio_folder):
    page = Page()
    for path, kind in (("", "text/html"), ("page.css", "text/css"), ("page.js", "text/javascript")):
        answer = page.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-security-policy"] == server.POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert page.get("other.js").status_code == 404
    text = page.get().text + page.get("page.js").text + page.get("page.css").text
    assert "https://" not in text
    assert text.count("http://") == text.count("http://www.w3.org/2000/svg") == 1  # a name, which nothing asks for


def test_a_wrong_token_is_refused(studio_folder):
    page = Page()
    other = page.guard.token[:-1] + ("A" if page.guard.token[-1] != "A" else "B")
    for path in ("/page.js", f"/{other}/", f"/{other}/api/state", "/é/", f"/{page.guard.token}x/"):
        answer = page.client.get(path)
        assert answer.status_code == 403, path
        assert "wings" not in answer.text
    assert page.client.post(f"/{other}/api/release", json={}, headers={"origin": HOME}).status_code == 403


def enter(page, code, **headers):
    return page.client.post("/", data={"code": code}, headers={"origin": HOME, **headers})


def test_the_code_leads_to_the_page_from_a_file_or_the_door(studio_folder):
    for origin, site in ((HOME, "same-origin"), ("null", "cross-site")):  # a file is of no origin
        page = Page()
        door = page.client.get("/")
        assert (door.status_code, "Paste the code" in door.text) == (200, True)
        assert page.guard.code not in door.text
        answer = enter(page, f" {page.guard.code}\n", origin=origin, **{"sec-fetch-site": site})
        assert (answer.status_code, answer.headers["refresh"]) == (200, f"0; url={page.guard.address}")
        assert page.get("api/state").status_code == 200
        assert (page.stopped, page.told) == ([], [])


def test_whoever_takes_the_code_a_second_time_ends_the_studio(studio_folder):
    page = Page("wings.tps")
    assert enter(page, page.guard.code).status_code == 200
    was = page.guard.token
    again = enter(page, page.guard.code, origin="null")
    assert again.status_code == 403
    assert page.stopped == [True]
    assert "SOMEONE ELSE" in page.told[0]
    assert "refresh" not in again.headers
    for token in (was, page.guard.code):  # at once, before the server has ended
        assert page.client.get(f"/{token}/api/state").status_code == 403


def test_the_door_opens_to_the_code_alone(studio_folder):
    """A page of no origin, such as one in a sandbox, gets nowhere; and a wrong code ends nothing."""
    page = Page()
    for code in ("", "x", page.guard.code[:-1], page.guard.code + "x", page.guard.token, "é", "x" * 10**6):
        for origin in (HOME, "null"):
            answer = enter(page, code, origin=origin)
            assert (answer.status_code, "refresh" in answer.headers) == (403, False)
    for origin in ("http://evil.example", f"http://127.0.0.1:{PORT + 1}"):
        assert enter(page, page.guard.code, origin=origin).status_code == 403
    assert enter(page, page.guard.code, host="evil.example").status_code == 421
    assert page.client.post("/", data={"code": page.guard.code}).status_code == 403
    assert page.client.get(f"/?code={page.guard.code}", headers={"origin": "null"}).status_code == 403
    for path in (f"/{page.guard.code}/", f"/{page.guard.token}/", "/api/state", "//"):
        answer = page.client.post(path, data={"code": page.guard.code}, headers={"origin": "null"})
        assert answer.status_code == 403
        assert page.client.get(path, headers={"origin": "null"}).status_code == 403
    assert (page.guard.used, page.stopped, page.told) == (0, [], [])


def test_no_secret_stands_in_a_command_and_the_opener_is_the_curators_alone(studio_folder, monkeypatch):
    """The browser is told a file that nobody else can read, which is gone once it was used."""
    told, opened, found = [], threading.Event(), {}

    def browse(url):
        file = Path(httpx.URL(url).path)
        door, code = re.search(r'action="(\S+)".* value="(\S+)"', file.read_text()).groups()
        found.update(url=url, mode=file.stat().st_mode & 0o777, above=file.parent.stat().st_mode & 0o777, code=code)
        answer = httpx.post(door, data={"code": code}, headers={"origin": "null", "sec-fetch-site": "cross-site"})
        found.update(address=answer.headers["refresh"].removeprefix("0; url="), left=file.exists())
        found["page"] = httpx.get(found["address"]).status_code
        found["second"] = httpx.post(door, data={"code": code}, headers={"origin": "null"}).status_code
        opened.set()

    monkeypatch.setattr(server.webbrowser, "open", browse)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        server.serve("", "", 0, True, told.append)
    assert opened.wait(30)
    assert (found["mode"], found["above"], found["left"]) == (0o600, 0o700, False)
    assert (found["page"], found["second"], end.value.code) == (200, 403, 1)
    token = found["address"].split("/")[3]
    assert found["url"].startswith("file://")
    assert not any(secret in found["url"] for secret in (token, found["code"]))
    assert not any(token in words for words in told)  # nor is it printed: an address may be clicked in a terminal
    assert any("SOMEONE ELSE" in words for words in told)


def test_a_request_that_never_ends_does_not_keep_the_studio_open(studio_folder):
    """As one of a thief, who would have time then."""
    command = [sys.executable, "-m", "sfumato", "studio", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_env()) as process:
        door, code = process.stdout.readline().split()[-1], process.stdout.readline().split()[-1]
        port = httpx.URL(door).port
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: null\r\nContent-Length: 9\r\n\r\nc" % port)
            for expected in (200, 403):
                assert httpx.post(door, data={"code": code}, headers={"origin": "null"}).status_code == expected
            out = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "SOMEONE ELSE" in out


def test_another_host_is_refused(studio_folder):
    page = Page()
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"0.0.0.0:{PORT}"):
        assert page.get(host=host).status_code == 421, host
    # Another user may listen on [::1], to which browsers take this name first.
    assert page.get(host=f"localhost:{PORT}").status_code == 421


def test_another_origin_can_neither_read_nor_spend(studio_folder):
    page = Page("wings.tps", "study.ledger")
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"https://127.0.0.1:{PORT}"):
        assert page.get("api/state", origin=origin).status_code == 403
        answer = page.post("release", PLAN, {"confirm": "release", "seen": 0}, origin=origin)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert page.get("api/state", **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert page.get("api/state", **{"sec-fetch-site": "same-site"}).status_code == 403
    assert page.get("api/state", **{"sec-fetch-site": "same-origin"}).status_code == 200
    nobody = page.client.post(
        f"/{page.guard.token}/api/release", json={"choices": PLAN, "confirm": "release", "seen": 0}
    )
    assert nobody.status_code == 403  # a browser says where a POST comes from
    assert (
        page.client.request(
            "OPTIONS", f"/{page.guard.token}/api/release", headers={"origin": "http://evil.example"}
        ).status_code
        == 403
    )
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):  # what a form can send
        headers = {"origin": "http://evil.example", "content-type": kind, "sec-fetch-site": "cross-site"}
        body = json.dumps({"choices": PLAN, "confirm": "release", "seen": 0})
        answer = page.client.post(f"/{page.guard.token}/api/release", content=body, headers=headers)
        assert answer.status_code == 403
    assert not page.studio.jobs
    assert not charges()


def test_what_the_page_does_not_send_is_refused(studio_folder):
    page = Page()
    url, headers = f"/{page.guard.token}/api/look", {"origin": HOME}
    for body in (b"", b"[]", b"{", b'{"choices": 1}', b"\xff", b'{"choices": {"epsilon": 1e999}}', b"[" * 20_000):
        answer = page.client.post(url, content=body, headers=headers)
        assert answer.status_code == 422, body[:20]
    assert page.client.post(url, content=b" " * (server.MOST_JSON + 1), headers=headers).status_code == 413
    assert page.post("nothing").status_code == 404
    assert page.client.request("PUT", url, headers=headers).status_code == 405


def test_no_websocket_is_opened(studio_folder):
    """Neither is one answered, nor does a request to become one end as anything but a refusal."""
    page, sent = Page(), []

    async def send(message):
        sent.append(message)

    asyncio.run(page.guard({"type": "websocket", "path": f"/{page.guard.token}/", "headers": []}, None, send))
    assert sent == []
    answer = page.get("", connection="upgrade", upgrade="websocket", origin="http://evil.example")
    assert answer.status_code == 403


# -- what is read ---------------------------------------------------------------------------------------------------------
def test_no_record_is_opened_before_the_release_but_by_inspection(studio_folder, monkeypatch):
    opened = []
    monkeypatch.setattr(sys.modules["sfumato.files.reading"].Path, "read_bytes", _noted(Path.read_bytes, opened))
    page = Page("wings.tps", "study.ledger")
    page.get()
    page.get("api/state")
    for what in ("known", "blur", "curve", "ledger", "plan"):
        page.ask(what, PLAN)
    assert "reference.tps" in opened  # the watch works
    assert "wings.tps" not in opened
    assert "type the word release" in page.refused("release", PLAN, confirm="yes", seen=0)
    assert "wings.tps" not in opened
    page.ask("inspect", PLAN)
    assert opened.count("wings.tps") > 0
    del opened[:]
    page.release(PLAN)
    assert "wings.tps" in opened


def _noted(read, opened):
    def noted(path):
        opened.append(path.name)
        return read(path)

    return noted


def test_previews_do_not_depend_on_the_records(studio_folder):
    page = Page()
    before = [page.ask(what, PLAN) for what in ("known", "blur")]
    Path("wings.tps").write_text("nothing that can be read")
    again = Page()
    assert [again.ask(what, PLAN) for what in ("known", "blur")] == before


def test_the_file_of_the_records_is_not_public(studio_folder):
    page = Page()
    Path("soft.tps").symlink_to("wings.tps")
    os.link("wings.tps", "hard.tps")
    Path("folder").mkdir()
    os.link("wings.tps", "folder/one.tps")
    for public in ({"public": "wings.tps", "center": "", "radius": ""}, {"center": "./wings.tps"}):
        assert "not public" in page.refused("blur", PLAN | public)
    for name in ("soft.tps", "hard.tps"):
        assert "not public" in page.refused("blur", PLAN | {"center": name})
        assert "not public" in page.refused("blur", PLAN | {"links": name})
    assert "not public" in page.refused("blur", PLAN | {"files": "folder", "center": "folder/one.tps"})


@pytest.fixture
def elsewhere(studio_folder, tmp_path_factory):
    """A folder beside that of the studio, with the same files."""
    return Path(shutil.copytree(studio_folder, tmp_path_factory.mktemp("elsewhere") / "files"))


ASKS = ("inspect", "look", "make", "open", "release")


@pytest.mark.parametrize("name", ["files", "labels", "public", "center", "ledger", "links", "channels", "out"])
def test_files_elsewhere_are_neither_opened_nor_written(studio_folder, elsewhere, name, monkeypatch):
    held = "study.ledger" if name == "ledger" else "public.tps"
    Path("soft").symlink_to(elsewhere / held)
    Path("there").symlink_to(elsewhere)
    monkeypatch.setenv("HOME", str(elsewhere))
    up = os.path.relpath(elsewhere / held)
    ways = [str(elsewhere / held), up, "soft", f"there/{held}", f"./there/../there/{held}", f"~/{held}", "/etc/passwd"]
    page, before = Page("wings.tps", "study.ledger"), sorted(elsewhere.iterdir())
    plan = PLAN | ({"center": "", "radius": ""} if name == "public" else {})
    for way in ways:
        for what in ASKS:
            said = page.refused(what, plan | {name: way}, confirm="release", seen=0)
            assert "where the studio was started" in said
            assert "start it in the folder of your files" in said
    assert sorted(elsewhere.iterdir()) == before
    assert not charges()
    page.ask("plan", plan | {name: str(studio_folder / held)})  # what lies in the folder may be named in any way


def test_a_link_in_a_folder_of_records_leads_nowhere_else(studio_folder, elsewhere):
    Path("many").mkdir()
    Path("many/a.tps").symlink_to(studio_folder / "public.tps")
    assert Page().ask("inspect", {"files": "many"})["records"] == 20
    Path("many/b.tps").symlink_to(elsewhere / "wings.tps")
    assert "many/b.tps: lies outside" in Page().refused("inspect", {"files": "many"})
    assert Page("many").ask("inspect", {"files": "many"})["records"] == 140  # which the curator named


def test_files_that_were_named_at_the_start_or_dropped_are_opened_wherever_they_lie(studio_folder, elsewhere):
    file, ledger = str(elsewhere / "wings.tps"), str(elsewhere / "study.ledger")
    page = Page(file, ledger)
    dropped = page.client.post(
        f"/{page.guard.token}/api/drop?name=one.tps",
        content=Path("reference.tps").read_bytes(),
        headers={"origin": HOME},
    )
    job = page.release(PLAN | {"files": file, "ledger": ledger, "center": dropped.json()["path"]})
    assert job["stage"] == "done"
    assert "lies outside" in page.refused("inspect", {"files": str(elsewhere / "public.tps")})
    page.studio.wait()


def test_a_link_that_was_turned_meanwhile_is_not_taken_home(studio_folder, elsewhere):
    Path("lines.txt").write_text("1-2\n")
    page = Page()
    job = page.release(PLAN | {"links": "lines.txt"})
    assert page.get(f"take/{job['id']}/picture.svg").status_code == 200
    before = page.get(f"api/job/{job['id']}").json()
    Path("lines.txt").unlink()
    Path("lines.txt").symlink_to(elsewhere / "wings.tps")
    assert page.get(f"api/job/{job['id']}").json() == before  # what was read when it was asked for
    assert page.get(f"take/{job['id']}/picture.svg").status_code == 200
    assert "lies outside" in page.refused("look", PLAN | {"links": "lines.txt"})


def test_lines_that_are_wrong_cost_nothing(studio_folder):
    page = Page()
    assert "landmark" in page.release(PLAN | {"links": "1-99"})["refusal"]
    assert not charges()


def test_inspection_tells_the_curator(studio_folder):
    found = Page().ask("inspect", {"files": "wings.tps"})
    assert (found["n"], found["space"], found["bad_records"], found["may_be"]) == (120, "shapes(landmarks=8)", 0, [])
    lines = ["subject,lat,lon", *(f"s{i // 2},{10 + i % 7},{20 + i % 5}" for i in range(60))]
    Path("places.csv").write_text("\n".join(lines) + "\n")
    found = Page().ask("inspect", {"files": "places.csv", "unit_column": "subject"})
    assert (found["n"], found["records"], list(found["repeats"])) == (30, 60, ["subject"])
    assert "no/such.tps" in Page().refused("inspect", {"files": "no/such.tps"})
    np.save("vectors.npy", np.random.default_rng(0).normal(size=(20, 3)))
    assert set(Page().ask("inspect", {"files": "vectors.npy"})["may_be"]) >= {"euclidean", "sphere"}


def test_names_of_files_that_are_no_text(studio_folder):
    os.rename(b"wings.tps", b"wing\xff.tps")
    page = Page()
    state = page.get("api/state").json()
    assert "reference.tps" in state["files"]
    assert not any("wing" in name for name in state["files"])
    for what in ("inspect", "plan", "blur"):
        said = page.refused(what, PLAN | {"files": "wing\udcff.tps"})
        assert "give the file another name" in said
    assert "give the file another name" in page.refused("plan", PLAN | {"out": "a\0b"})
    assert "name" in page.refused("inspect", {"files": "x" * 5000})


def test_two_files_of_the_same_name_can_be_dropped(studio_folder):
    page, paths = Page(), []
    for content in (b"one", b"two"):
        url = f"/{page.guard.token}/api/drop?name=a.tps"
        paths.append(Path(page.client.post(url, content=content, headers={"origin": HOME}).json()["path"]))
    assert [path.read_bytes() for path in paths] == [b"one", b"two"]
    long = page.client.post(f"/{page.guard.token}/api/drop?name={'x' * 300}", content=b"", headers={"origin": HOME})
    assert (long.status_code, "too long" in long.json()["refusal"]) == (422, True)
    page.studio.wait()


def test_half_a_file_is_not_kept(studio_folder):
    page = Page()

    async def send():
        sent = [{"type": "http.request", "body": b"x" * 1000, "more_body": True}, {"type": "http.disconnect"}]
        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/{page.guard.token}/api/drop",
            "query_string": b"name=a.tps",
        }
        headers = [(b"host", f"127.0.0.1:{PORT}".encode()), (b"origin", HOME.encode())]
        scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", PORT)}

        async def receive():
            return sent.pop(0)

        async def nothing(_):
            pass

        await page.guard(scope, receive, nothing)

    asyncio.run(send())
    assert list(Path(page.studio._dropped.name).rglob("*.tps")) == []
    page.studio.wait()


def test_what_is_dropped_has_a_limit(studio_folder, monkeypatch):
    """Of one file and of all; what is too large is not kept, and takes no room."""
    monkeypatch.setattr(server, "MOST_DROPPED", 3 << 20)
    monkeypatch.setattr(server, "MOST_HELD", 5 << 20)
    page = Page()

    def drop(size):
        async def parts():
            for _ in range(size >> 16):
                yield b"x" * (1 << 16)

        url, headers = f"/{page.guard.token}/api/drop?name=a.tps", {"origin": HOME}
        answer = page.client.post(url, content=parts(), headers=headers)
        kept = [path.stat().st_size for path in Path(page.studio._dropped.name).rglob("*.tps")]
        return answer.status_code, answer.json().get("refusal", ""), sum(kept)

    assert drop(3 << 20) == (200, "", 3 << 20)
    for size in ((3 << 20) + (1 << 16), 3 << 20):
        status, said, kept = drop(size)
        assert (status, kept) == (422, 3 << 20)
        assert (
            "one file may have 3 MB, and all together 5 MB; start the studio in the folder where the file lies" in said
        )
    assert drop(2 << 20) == (200, "", 5 << 20)
    page.studio.wait()


def test_a_large_parquet_file_is_never_read_whole(studio_folder, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(0, 0.1, 5000) for name in "xyz"}
    parquet.write_table(arrow.table(columns), "big.parquet", row_group_size=500)
    plan = {
        "files": "big.parquet",
        "space": "euclidean",
        "center": "origin",
        "radius": "1",
        "n": "5000",
        "epsilon": "1",
    }
    plan |= {"unit": "one place", "read_as": "euclidean(dim=3)"}
    assert Page().ask("inspect", plan)["records"] == 5000
    monkeypatch.setattr("sfumato.records.sources.memory_bytes", lambda _: 20_000)
    monkeypatch.setattr("sfumato.files.reading.read", None)
    monkeypatch.setattr("sfumato.app.workflow.reader", None)
    seen = Page().ask("inspect", plan)
    assert (seen["n"], seen["records"]) == (5000, 1000)
    assert "only the first 1000 of its 5000 records" in seen["remarks"][0]
    assert "say what its records are" in Page().refused("inspect", {"files": "big.parquet"})
    job = Page().release(plan)
    assert job["stage"] == "done", job["refusal"]
    assert sf.Release.load("mean.json").n == 5000
    assert "of the first 1000 records" in job["curator"][0]


def test_a_dropped_file_is_kept_until_the_studio_stops(studio_folder):
    page = Page()
    answer = page.client.post(
        f"/{page.guard.token}/api/drop?name=../../a/dropped.tps",
        content=Path("wings.tps").read_bytes(),
        headers={"origin": HOME},
    )
    path = Path(answer.json()["path"])
    assert path.name == "dropped.tps"
    assert path.read_bytes() == Path("wings.tps").read_bytes()
    assert path.parent.stat().st_mode & 0o077 == 0  # the curator's alone
    assert page.ask("inspect", {"files": str(path)})["n"] == 120
    page.studio.wait()
    assert not path.exists()


# -- pictures ---------------------------------------------------------------------------------------------------------------
def regions():
    rng = np.random.default_rng(1)
    turn = 2 * np.pi * np.arange(50) / 50
    outline = np.stack([2 * np.cos(turn), np.sin(turn)], axis=1)
    shapes, solids = sf.PlanarShapes(landmarks=50), sf.Shapes3D(landmarks=9)
    return {
        "ball": sf.Ball(shapes, outline, 0.125),
        "sample": sf.Ellipsoid.from_sample(shapes, outline + rng.normal(0, 0.02, (26, 50, 2))),
        "smooth": sf.Ellipsoid.smooth(shapes, outline, 0.125),
        "solids": sf.Ball(solids, rng.normal(size=(9, 3)), 0.2),
        "ellipses": sf.Ball(sf.SPD(size=2), np.diag([2.0, 1.0]), 1.0),
        "heat": sf.Ball(sf.SPD(size=5), np.eye(5), 1.0),
        "globe": sf.Ball(sf.Sphere(dim=2), [0.0, 0.6, 0.8], 0.4),
        "numbers": sf.Ball(sf.Euclidean(dim=4), [0.0, 1.0, 2.0, 3.0], 1.0),
        "angles": sf.Ball(sf.Torus(dim=2), [0.0, 1.0], 0.5),
        "subspaces": sf.Ball(sf.Grassmann(n=4, p=2), np.eye(4, 2), 0.3),
    }


@pytest.mark.parametrize("name", regions())
def test_every_kind_of_record_has_a_picture(name):
    region = regions()[name]
    known = of_region(region, None)
    found = of_release(choose(region, 400, 1.0))
    json.dumps([known, found], allow_nan=False)
    planned = sf.plan(region, n=400, epsilon=1.0)[0]
    assert (found["error"], found["useless"]) == (planned.error_95, planned.useless)
    assert f"Within {planned.error_95:.3g} (" in found["says"]
    if planned.gain is not None:
        assert f"noise {planned.noise_95:.3g}," in found["says"]
    if planned.directions and planned.directions < region.space.dim:
        assert f"in {planned.directions} of {region.space.dim} directions" in found["more"]
    if region.space.kind == "landmarks":
        linked = of_region(region, None, links=[(0, 1), (1, 2)])["panels"][0]["marks"]
        assert sum(m["t"] == "line" and m["c"] == "centre" for m in linked) == 2
    panels = {"solids": (4, 4), "heat": (4, 4), "subspaces": (2, 2), "globe": (2, 2), "angles": (1, 2)}
    bent = region.space.kind == "landmarks" and name != "solids"  # a release is also shown as a grid
    assert (len(known["panels"]), len(found["panels"])) == panels.get(name, (1, 1 + bent))
    assert bent == any("a grid on the public" in panel["title"] for panel in found["panels"])
    if name == "heat":  # the differences in a row with what differs, in colours of their own
        assert [panel["row"] for panel in found["panels"]] == [0, 0, 0, 1]
        assert re.match(r"difference, colours\s×\d", found["panels"][2]["title"])
    assert ["public centre" in label or "public mean" in label for label, *_ in found["legend"]].count(True) == 1
    for panel in found["panels"]:  # what is drawn is inside the picture, the frame of which is wide enough for the band
        at = np.array([m["p"] for m in panel["marks"] if m["t"] == "dot"] or [[0, 0]])
        assert (at >= 0).all()
        assert (at <= panel["size"]).all()


def test_coasts_are_drawn_where_directions_are_places_and_channels_by_their_names():
    globe, heat = regions()["globe"], regions()["heat"]
    for places in (True, False):
        marks = of_region(globe, None, places=places)["panels"][0]["marks"]
        assert any(m["c"] == "coast" for m in marks) == places
        assert any(m["t"] == "text" and m["s"].endswith("°N") for m in marks)
    marks = of_region(heat, None, names=("Fz", "Cz", "Pz", "C3", "C4"))["panels"][0]["marks"]
    assert [m["s"] for m in marks if m["t"] == "text"].count("Pz") == 2
    assert any(m["s"] == "Cz, C3: 0" for m in marks if m["t"] == "cell")


def test_a_larger_epsilon_never_looks_worse():
    """Though the noise alone does: more directions are worth it, and each has noise of its own."""
    rises = []
    for region in (regions()["sample"], regions()["smooth"]):
        found = _errors(plain(region, Request(n=400, epsilon=1.0), 0.0))
        assert [row.facts.epsilon for row in found] == sorted(row.facts.epsilon for row in found)
        assert all(np.diff([row.error_95 for row in found]) <= 0)
        rises.append(bool((np.diff([row.noise_95 for row in found]) > 0).any()))
        assert found[-1].directions > found[0].directions
    assert any(rises)


def test_the_band_holds_the_releases_that_are_drawn():
    """At ε four times smaller the band, and the spread of releases, are wider by about as much; a band that ignored ε fails."""
    region = regions()["globe"]
    widths, spreads = [], []
    for epsilon in (0.25, 1.0):
        found = of_release(choose(region, 400, epsilon, "laplace"))["panels"][1]
        half = (
            np.radians(float(found["title"].split()[2].removesuffix("°,"))) / 400
        )  # one unit of the panel on the sphere
        band = np.array(next(m["p"] for m in found["marks"] if m["c"] == "band")[0])
        draws = np.array([m["p"] for m in found["marks"] if m["c"].startswith("draw")])
        widths.append(half * np.ptp(band[:, 0]) / 2)
        spreads.append(half * np.linalg.norm(draws - 200, axis=1).mean())
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.15)
    assert spreads[0] / spreads[1] == pytest.approx(4, rel=0.3)
    assert spreads[0] < widths[0]


def test_the_curve_passes_through_what_the_blur_says(studio_folder):
    page = Page()
    blur = page.ask("blur", PLAN)
    found = page.ask("curve", PLAN | {"mechanism": blur["mechanism"]})
    marks = found["panels"][0]["marks"]
    line = np.array(next(m["p"] for m in marks if m["c"] == "value"))
    x, y = next(m["p"] for m in marks if m["t"] == "dot")  # the choice, at ε = 1 and the error that the blur says
    assert np.interp(x, line[:, 0], line[:, 1]) == pytest.approx(y, abs=2.0)
    further = page.ask("curve", PLAN | {"epsilon": "2", "mechanism": blur["mechanism"]})["panels"][0]["marks"]
    dot = next(m["p"] for m in further if m["t"] == "dot")
    assert dot[0] > x
    assert dot[1] > y  # less far up: a smaller error


SAID = {
    "a ball": {},
    "a sample": {"center": "", "radius": "", "public": "public.tps", "relation": "same"},
    "two steps": {"steps": "2"},
    "groups": {"by": "sex", "labels": "sexes.csv", "labels_are_public": True, "epsilon": "3"},
}


@pytest.mark.parametrize("name", SAID)
def test_every_step_says_the_same_whole_error(studio_folder, name):
    """Before the release, in its words and in its record."""
    Path("sexes.csv").write_text("\n".join(["ID,sex", *(f"{i},{'mf'[i % 2]}" for i in range(120))]) + "\n")
    page, plan = Page(), PLAN | SAID[name] | {"allow_useless": True}
    blur = page.ask("blur", plan)
    job = page.release(plan)
    assert job["stage"] == "done", job["refusal"]
    said = f"within {blur['error']:.3g} "
    assert said in blur["says"].lower()
    assert said in " ".join(job["short"][1:]).lower()  # or what was foreseen, where the draw says more


def test_a_look_tells_each_part_and_why_one_is_missing(studio_folder):
    page = Page()
    parts = [json.loads(line) for line in page.post("look", PLAN).text.splitlines()]
    assert [part["part"] for part in parts] == list(LOOKS)
    assert not any("refusal" in part for part in parts)
    assert "there is no such file" in page.refused("known", PLAN | {"center": "gone.tps"})
    assert page.ask("plan", PLAN | {"center": "gone.tps"})["id"]  # the others are told all the same
    assert "an epsilon above 0" in page.refused("blur", PLAN | {"epsilon": "0"})
    assert page.ask("known", PLAN | {"epsilon": "0"})["panels"]


def test_the_ledger_says_before_a_click_what_it_can_pay(studio_folder):
    page = Page()
    told = page.ask("ledger", PLAN)
    assert (told["left"], told["after"]) == ("3", "2")
    assert page.ask("ledger", PLAN | {"epsilon": "3"})["after"] == "0"
    assert page.ask("ledger", PLAN | {"epsilon": "3.1"})["after"] is None
    assert page.ask("ledger", PLAN | {"ledger": "other.ledger"})["missing"].startswith("other.ledger is not there yet")
    assert "left" not in page.ask("ledger", PLAN | {"ledger": ""})
    sf.Ledger.create("pair.ledger", privacy=sf.ApproxDP(1.0, 1e-6))
    assert page.ask("ledger", PLAN | {"ledger": "pair.ledger", "delta": "1e-7", "epsilon": "0.9"})["after"] is not None
    assert page.ask("ledger", PLAN | {"ledger": "pair.ledger", "delta": "1e-5", "epsilon": "0.9"})["after"] is None
    assert not charges()


def test_a_ledger_is_made_in_the_page_and_never_replaced(studio_folder):
    page = Page()
    made = {"files": "wings.tps", "ledger": "new.ledger", "epsilon": "2"}
    assert "2 of 2 is left of the budget of 'wings'" in page.ask("make", made)["words"]
    assert "exists already" in page.refused("make", made | {"epsilon": "50"})
    assert "exists already" in page.refused("make", made | {"ledger": "wings.tps"})
    assert "promises nothing" in page.refused("make", made | {"ledger": "much.ledger", "epsilon": "500"})
    assert not Path("much.ledger").exists()
    assert page.release(PLAN | {"ledger": "new.ledger"})["stage"] == "done"
    assert str(sf.Ledger("new.ledger").left) == "1"


def test_a_draw_that_says_more_than_was_foreseen_is_told():
    """Which records that lie elsewhere than the public specimens bring about."""
    rng = np.random.default_rng(0)
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=3), rng.normal(0, 0.1, (30, 3)), "same")
    foreseen = f"{sf.plan(region, n=200, epsilon=1.0)[0].error_95:.3g}"
    for away in (0.0, 2.0):
        done = sf.private_mean(rng.normal(away, 0.1, (200, 3)), region, 1.0, unit="one", allow_useless=True)
        told = [words for words in Job(Request(), release=done).facts()["short"] if "was foreseen" in words]
        assert len(told) == (f"{done.error(0.95):.3g}" != foreseen)
    assert f"within {foreseen} was foreseen" in told[0]


# -- the release --------------------------------------------------------------------------------------------------------------
def test_a_release_is_charged_once_however_often_it_is_asked_for(studio_folder):
    page = Page("wings.tps", "study.ledger")
    job = page.release(PLAN)
    assert (job["stage"], job["refusal"], job["charged"]) == ("done", "", True)
    assert len(charges()) == 1
    text = Path("mean.json").read_text()
    for seen in (0, 1, 7):  # a reload, a second tab, a page that is out of date
        assert page.release(PLAN, confirm="", seen=seen)["id"] == job["id"]
    state = page.get("api/state").json()
    assert [each["id"] for each in state["releases"]] == [job["id"]]
    assert len(charges()) == 1
    assert Path("mean.json").read_text() == text
    assert sf.Ledger("study.ledger").left == 2


def test_two_tabs_at_the_same_moment_release_once(studio_folder):
    page = Page()
    start, found = threading.Barrier(4), []

    def tab():
        start.wait()
        found.append(page.studio.release(from_page(PLAN, Request), "release", 0)["id"])

    tabs = [threading.Thread(target=tab) for _ in range(4)]
    for each in tabs:
        each.start()
    for each in (*tabs, *page.studio.threads):
        each.join()
    page.studio.wait()
    assert len(set(found)) == 1
    assert len(charges()) == 1


def test_a_tab_that_has_not_seen_the_last_release_cannot_make_another(studio_folder):
    page = Page()
    page.release(PLAN)
    assert "another tab" in page.refused(
        "release", PLAN | {"epsilon": "0.5", "out": "b.json"}, confirm="release", seen=0
    )
    assert len(charges()) == 1
    job = page.release(PLAN | {"epsilon": "0.5", "out": "b.json"}, confirm="0.50", seen=1)
    assert job["stage"] == "done"
    assert len(charges()) == 2


def test_a_record_that_is_there_is_kept_and_can_be_opened(studio_folder):
    """As after a studio that was killed once its release was written: nothing is lost, and nothing is spent again."""
    first = Page().release(PLAN)
    page = Page()
    assert "exists already" in page.refused("release", PLAN, confirm="release", seen=0)
    job = page.ask("open", PLAN)
    assert job["words"] == first["words"]
    assert not job["command"]  # what made it is not known here
    assert page.get(f"take/{job['id']}/record.json").json() == json.loads(Path("mean.json").read_text())
    assert len(charges()) == 1
    assert job["id"] != page.ask("plan", PLAN)["id"]  # it may be of another plan, which is open still
    assert page.release(PLAN | {"out": "other.json"})["words"]
    assert len(charges()) == 2


def test_a_record_gets_a_name_that_is_free(studio_folder):
    assert Page().get("api/state").json()["outs"] == {
        "release": "mean.json",
        "compare": "comparison.json",
        "regress": "regression.json",
        "components": "components.json",
        "variance": "variance.json",
    }
    assert not Page().ask("plan", PLAN)["taken"]
    for name in ("mean.json", "mean-2.json"):
        Path(name).write_text("{}")
    page = Page()
    assert page.get("api/state").json()["outs"]["release"] == "mean-3.json"
    assert page.ask("plan", PLAN)["taken"]


@pytest.mark.parametrize("change", [{"epsilon": "0"}, {"epsilon": "-1"}, {"n": "0"}, {"n": "2.5"}, {"epsilon": ""}])
def test_what_cannot_be_spent_is_not_announced(studio_folder, change):
    assert Page().refused("plan", PLAN | change)


def test_names_for_pictures_come_from_other_files_than_the_records(studio_folder):
    page = Page()
    for name in ("links", "channels"):
        assert "not public" in page.refused("release", PLAN | {name: "wings.tps"}, confirm="release", seen=0)
    assert "perhaps in another tab" in page.refused("release", PLAN, confirm="release", seen=[])
    assert not charges()


def test_commands_name_a_dropped_file_as_it_was_called(studio_folder):
    page = Page()
    dropped = [
        page.client.post(
            f"/{page.guard.token}/api/drop?name={there}", content=Path(name).read_bytes(), headers={"origin": HOME}
        ).json()["path"]
        for name, there in (("wings.tps", "my wings.tps"), ("reference.tps", "one.tps"))
    ]
    job = page.release(PLAN | {"files": dropped[0], "center": dropped[1]})
    assert job["command"].startswith("sfumato release 'my wings.tps' --unit 'one wing' --center one.tps --radius 0.2")
    assert "sf.read('my wings.tps', space)" in job["python"]
    assert "sf.read('one.tps', space)" in job["python"]
    assert job["dropped"] == ["my wings.tps", "one.tps"]
    page.studio.wait()


def _env():
    return {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1])}


MOMENTS = {  # what is killed there: how often it was charged, whether the record is written
    "sfumato.app.workflow.Workflow.load": (0, False),
    "sfumato.release.ledger.Ledger.charge": (0, False),
    "sfumato.mechanisms.tangent.TangentKNorm.draw": (1, False),
    "sfumato.release.Release.save": (1, False),
    "sfumato.release.ledger.Ledger.complete": (1, True),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_studio_killed_at_any_moment_spends_once_at_most_and_loses_no_record(studio_folder, moment):
    code = """
import os, pkgutil, sys
from sfumato.app.request import Request, from_page
from sfumato.app.studio.studio import Studio
place, name = sys.argv[2].rsplit(".", 1)
setattr(pkgutil.resolve_name(place), name, lambda *a, **b: os._exit(9))
studio = Studio()
studio.release(from_page(eval(sys.argv[1]), Request), "release", 0)
studio.wait()
"""
    died = subprocess.run(
        [sys.executable, "-c", code, repr(PLAN | {"mechanism": "tangent"}), moment], env=_env(), check=False
    )
    assert died.returncode == 9
    times, written = MOMENTS[moment]
    assert (len(charges()), Path("mean.json").exists()) == (times, written)
    page = Page()
    assert [line.split(":")[0] for line in page.ask("ledger", PLAN)["open"]] == ["line 2"][
        :times
    ]  # a charge without a note
    page.get("api/state")
    assert len(charges()) == times  # a new studio does not go on by itself
    if written:
        assert "exists already" in page.refused("release", PLAN, confirm="release", seen=0)
        assert page.ask("open", PLAN)["promise"] == "ε = 1"
    else:
        assert page.release(PLAN)["stage"] == "done"
    assert len(charges()) == times + (not written)


def test_a_ledger_that_another_process_holds_is_waited_for_and_then_refused(studio_folder, monkeypatch):
    monkeypatch.setattr("sfumato.release.ledger.LOCK_SECONDS", 0.2)
    page = Page()
    lock = sqlite3.connect("study.ledger", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    job = page.release(PLAN)
    lock.close()
    assert "in use by another process" in job["refusal"]
    assert "nothing was charged" in job["refusal"]
    assert (job["charged"], charges(), Path("mean.json").exists()) == (False, [], False)
    assert page.release(PLAN)["stage"] == "done"


def test_two_plans_at_the_same_moment_make_one_release(studio_folder):
    page, start, found = Page(), threading.Barrier(2), []

    def tab(name):
        start.wait()
        try:
            found.append(page.studio.release(from_page(PLAN | {"out": name}, Request), "release", 0)["id"])
        except ValueError as refusal:
            found.append(str(refusal))

    tabs = [threading.Thread(target=tab, args=(name,)) for name in ("a.json", "b.json")]
    for each in tabs:
        each.start()
    for each in tabs:
        each.join()
    page.studio.wait()
    assert sum("another tab" in words for words in found) == 1
    assert len(charges()) == 1


def test_a_file_that_changes_after_it_was_looked_into_is_noticed(studio_folder):
    tall = np.random.default_rng(0).normal(size=(200, 30, 3))
    np.save("matrices.npy", np.einsum("nki,nkj->nij", tall, tall)[:, :2, :2] / 30)
    plan = PLAN | MATRICES | {"center": "identity", "radius": "1.5", "space": ""}
    page = Page()
    plan["read_as"] = page.ask("inspect", plan)["space"]
    np.save("matrices.npy", np.einsum("nki,nkj->nij", tall, tall) / 30)
    assert "has changed since you looked into it" in page.release(plan)["refusal"]
    np.save("matrices.npy", np.einsum("nki,nkj->nij", tall, tall)[1:, :2, :2] / 30)
    assert "set n to 199" in page.release(plan)["refusal"]
    Path("matrices.npy").unlink()
    assert "matrices.npy" in page.release(plan)["refusal"]
    assert not charges()


def test_a_failure_after_the_charge_is_told_and_not_tried_again(studio_folder, monkeypatch):
    page = Page()
    monkeypatch.setattr("sfumato.release.Release.save", _broken)
    job = page.release(PLAN)
    assert job["charged"]
    assert "kept here" in job["refusal"]  # it is made: it can be taken home
    assert page.get(f"take/{job['id']}/value.csv").status_code == 200
    assert page.release(PLAN)["id"] == job["id"]
    assert len(charges()) == 1


def _broken(*_, **__):
    raise OSError(28, "No space left on device")


REFUSALS = {
    "nobody is protected": ({"unit": ""}, "whom to protect"),
    "no confirmation": ({}, "type the word release"),
    "too much": ({"epsilon": "5"}, "only 3 of 3 is left"),
    "nothing public": ({"center": ""}, "the radius needs the centre too"),
    "no radius": ({"radius": ""}, "the centre needs the radius too"),
    "no such ledger": ({"ledger": "no.ledger"}, "there is no ledger"),
    "no number": ({"epsilon": "x"}, "is not a number"),
    "not a real number": ({"epsilon": "nan"}, "is not a number"),
    "a useless epsilon": ({"epsilon": "-1"}, "epsilon"),
    "its own input": ({"out": "wings.tps"}, "would replace wings.tps"),
    "no folder": ({"out": "no/mean.json"}, "there is no folder"),
    "unknown": ({"colour": "red"}, "colour"),
    "no file": ({"files": ""}, "name the file"),
    "no privacy": ({"epsilon": "200"}, "promises nothing"),
    "a link to nowhere": ({"out": "nowhere.json"}, "a link to a file that is not there"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_before_a_record_is_read(studio_folder, name, monkeypatch):
    change, words = REFUSALS[name]
    monkeypatch.setattr("sfumato.app.workflow.Workflow.load", None)  # reading would fail
    Path("nowhere.json").symlink_to("gone/nowhere.json")
    page = Page()
    said = page.refused("release", PLAN | change, confirm="" if name == "no confirmation" else "release", seen=0)
    assert words in said
    assert "--" not in said
    assert not charges()
    assert not page.studio.jobs


LATER = {
    "another n": ({"n": "119"}, "set n to 120"),
    "useless": ({"epsilon": "0.05", "mechanism": "laplace"}, "“release even if useless”"),
    "no such file": ({"files": "gone.tps"}, "gone.tps"),
    "no such column": ({"unit": "", "unit_column": "subject"}, "there is no column 'subject'"),
    "wrong kind": ({"space": "spd"}, "wings.tps"),
    "repeats": ({"files": "twice.tps"}, "“Some have several records, and a column says whose”"),
    "a bad record": ({"files": "bad.tps"}, "“put the public centre in its place”"),
}


@pytest.mark.parametrize("name", LATER)
def test_what_is_refused_once_the_records_are_read_costs_nothing_either(studio_folder, name):
    text = Path("wings.tps").read_text()
    Path("twice.tps").write_text(text.replace("ID=1\n", "ID=0\n"))
    Path("bad.tps").write_text(text.replace(text.splitlines()[1], "nan nan", 1))
    change, words = LATER[name]
    page = Page()
    job = page.release(PLAN | change)
    assert job["stage"] == "stopped"
    assert words in job["refusal"]
    assert "--" not in job["refusal"]
    assert not job["charged"]
    assert not charges()
    assert not Path("mean.json").exists()
    assert page.release(PLAN)["stage"] == "done"  # and it can be mended


def test_an_answer_about_repeats_lets_the_release_go_on(studio_folder):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    assert Page().release(PLAN | {"files": "twice.tps", "alone": True})["stage"] == "done"
    job = Page().release(PLAN | {"files": "twice.tps", "unit": "", "unit_column": "ID", "n": "119", "out": "b.json"})
    assert job["stage"] == "done"


def test_what_is_taken_home(studio_folder):
    page = Page()
    job = page.release(PLAN)
    assert set(job["takes"]) >= {"record.json", "report.html", "picture.png", "picture.svg", "value.tps", "value.csv"}
    for name in job["takes"]:
        answer = page.get(f"take/{job['id']}/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        Path(f"taken-{name}").write_bytes(answer.content)
    assert sf.Release.load("taken-record.json").sha256 == sf.Release.load("mean.json").sha256
    value = sf.Release.load("mean.json").value
    for name in ("taken-value.tps", "taken-value.csv"):
        np.testing.assert_array_equal(sf.read(name).points[0], value)
    assert Path("taken-picture.png").read_bytes().startswith(b"\x89PNG")
    assert "What is promised" in Path("taken-report.html").read_text(encoding="utf-8")
    assert all("curator" not in Path(f"taken-{name}").read_bytes().decode("latin-1") for name in job["takes"])
    assert "public ball" in job["curator"][0]
    assert job["curator"][1] == "In study.ledger, ε = 2 is left."
    for path in (
        "../../wings.tps",
        "..%2f..%2fwings.tps",
        "%2e%2e/wings.tps",
        "..%5cwings.tps",
        "/etc/passwd",
        "record.json/..",
    ):
        assert page.get(f"take/{job['id']}/{path}").status_code in (403, 404), path
    assert page.get("../wings.tps").status_code == 403
    assert page.get("..%2fwings.tps").status_code == 404
    assert page.get("take/nothing/record.json").status_code == 404


def grouped_plan():
    """Wings of two sexes, which differ in the first landmark, and a table of them."""
    Path("sexes.csv").write_text("\n".join(["ID,sex", *(f"{i},{'mf'[i % 2]}" for i in range(120))]) + "\n")
    records = Path("wings.tps").read_text().split("LM=8\n")[1:]
    for i in range(1, 120, 2):
        first, rest = records[i].split("\n", 1)
        records[i] = f"{float(first.split()[0]) + 0.6} {first.split()[1]}\n{rest}"
    Path("wings.tps").write_text("".join("LM=8\n" + record for record in records))
    return PLAN | {"by": "sex", "labels": "sexes.csv", "labels_are_public": True, "epsilon": "3", "out": "sexes.json"}


def test_groups_are_planned_compared_and_taken_home(studio_folder):
    page, plan = Page(), grouped_plan()
    seen = page.ask("inspect", plan)
    assert seen["groups"]["sex"] == {"f": 60, "m": 60}
    blur = page.ask("blur", plan | {"smallest": "60"})
    assert blur["says"].startswith(f"Each group: within {blur['error']:.3g} (")
    assert 0 < blur["detectable"] < 0.4
    assert blur == page.ask("blur", plan)  # half of n, unless it is known better
    wider = page.ask("blur", plan | {"smallest": "20"})
    assert wider["detectable"] > 2 * blur["detectable"]
    assert page.ask("curve", plan)["table"]
    assert "everybody may know it" in page.refused("release", plan | {"labels_are_public": False}, confirm="3", seen=0)
    found = {"radius": "0.3", "find_radius": True}
    assert "publicly known" in page.refused("release", plan | found, confirm="3", seen=0)
    assert not charges()
    job = page.release(plan, confirm="3")
    assert job["stage"] == "done", job["refusal"]
    assert len(charges()) == 1
    assert "f (60), m (60)" in job["words"]
    assert set(job["takes"]) == {"record.json", "report.html", "picture.png", "picture.svg"}
    for name in job["takes"]:
        Path(f"taken-{name}").write_bytes(page.get(f"take/{job['id']}/{name}").content)
    assert sf.Comparison.load("taken-record.json").sha256 == sf.Comparison.load("sexes.json").sha256
    assert sf.Comparison.load("sexes.json").difference().differs  # they are 0.6 apart
    assert "How the groups differ" in Path("taken-report.html").read_text(encoding="utf-8")
    assert page.get(f"take/{job['id']}/value.csv").status_code == 404
    assert Page().ask("open", plan)["words"] == job["words"]


def test_missing_landmarks_are_estimated_and_the_curator_hears_of_it(studio_folder):
    page, lines = Page(), Path("wings.tps").read_text(encoding="utf-8").split("\n")
    Path("wings.tps").write_text("\n".join([lines[0], "NA NA", *lines[2:]]), encoding="utf-8")
    job = page.release(PLAN)
    assert "the code for missing values (estimate)" in job["refusal"]
    assert "missing" in job["fixes"]
    Path("sliders.csv").write_text("1 2 3\n", encoding="utf-8")
    plan = PLAN | {"missing": "estimate", "slide": "sliders.csv", "slide_by": "distance"}
    assert page.ask("blur", plan)
    job = page.release(plan)
    assert job["stage"] == "done", job["refusal"]
    assert job["curator"][0].startswith("missing landmarks estimated: 1, in 1 of 120 specimens: record 0 ")
    assert "--missing estimate" in job["command"]
    assert "--slide sliders.csv --slide-by distance" in job["command"]
    assert "data = sf.estimate_missing(data, reference)\ndata = sf.slide(data, reference, " in job["python"]
    assert len(charges()) == 1


def test_groups_within_a_second_factor(studio_folder):
    page, plan = Page(), grouped_plan()
    rows = (f"{i},{'mf'[i % 2]},{'north' if i < 60 else 'south'}" for i in range(120))
    Path("sexes.csv").write_text("\n".join(["ID,sex,site", *rows]) + "\n")
    more = {"within": "site", "smallest": "30", "epsilon": "9", "ledger": "", "allow_useless": True}
    sizes = page.ask("inspect", plan | more)["groups"]
    assert sizes == {"sex": {"f": 60, "m": 60}, "site": {"north": 60, "south": 60}}
    asked = page.refused("release", plan | more | {"labels_are_public": False}, confirm="9", seen=0)
    assert "is the sex and site of every person public knowledge?" in asked
    job = page.release(plan | more, confirm="9")
    assert job["stage"] == "done", job["refusal"]
    assert [*sf.Comparison.load("sexes.json").groups] == ["f in north", "f in south", "m in north", "m in south"]
    assert "--by sex --within site --labels sexes.csv" in job["command"]
    assert "within='site'" in job["python"]


def test_directions_above_the_noise_name_what_to_make_of_them(studio_folder):
    rng = np.random.default_rng(0)
    reference = sf.read("reference.tps", sf.PlanarShapes(landmarks=8)).points[0]
    shapes = reference + rng.normal(0, 0.01, (1000, 8, 2))
    shapes[:, 0, 0] += 0.5 * rng.choice([-1, 1], 1000)
    region = sf.Ball(sf.PlanarShapes(landmarks=8), reference, 0.25)
    for name, some, epsilon in (("my ways.json", shapes, 8.0), ("none.json", shapes[:50], 0.05)):
        sf.private_components(some, region, epsilon, allow_useless=True).save(name)
    page = Page()
    found = page.ask("open", {"out": "my ways.json"})["next"]
    assert found == "sfumato synthesize 'my ways.json' --n 100"
    made = CliRunner().invoke(cli.app, shlex.split(found)[1:])
    assert made.exit_code == 0, made.output
    assert len(sf.read("synthetic.tps", sf.PlanarShapes(landmarks=8))) == 100
    assert page.ask("open", {"out": "none.json"})["next"] == ""


def test_groups_by_a_column_and_a_unit_count_persons(studio_folder):
    rows = [f"s{i // 2},{10 + i % 7},{20 + i % 5},{'east' if i < 40 else 'west'}" for i in range(60)]
    Path("places.csv").write_text("\n".join(["subject,lat,lon,side", *rows]) + "\n")
    found = Page().ask("inspect", {"files": "places.csv", "unit_column": "subject"})
    assert found["groups"] == {"side": {"east": 20, "west": 10}}
    assert "there is no column 'sex'" in Page().refused("inspect", {"files": "places.csv", "by": "sex"})


def test_what_is_said_to_be_detectable_is_found_in_so_many_studies():
    """And half of it is not: the number means something."""
    n, labels = 200, np.repeat(["a", "b"], 200)
    region, rng = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), np.random.default_rng(7)
    said = of_groups(region, Request(n=2 * n, epsilon=1.0))[1]["detectable"]
    rates = []
    for apart in (said, said / 2):
        found = []
        for _ in range(100):
            points = rng.choice([-0.5, 0.5], 2 * n) + np.where(labels == "a", -apart / 2, apart / 2)
            done = sf.compare_groups(points[:, None], labels, region, 1.0, unit="one")
            found.append(done.difference().differs)
        rates.append(np.mean(found))
    assert 0.64 < rates[0] < 0.96  # 0.8, and four standard errors
    assert rates[1] < 0.5


FOUND = {
    "a radius": ({"radius": "0.4", "find_radius": True}, "within 0.1 of the centre", "within 0.4"),
    "both": ({"radius": "", "prior": "0.4"}, "within 0.1 of some point", "within 0.4"),
    "a sphere": (
        {"files": "places.csv", "center": "", "radius": "", "prior": "whole", "space": "sphere(dim=2)"},
        "within 0.785",
        "within 3.14",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_region_that_is_yet_to_be_found_is_shown_as_it_may_be(studio_folder, name):
    change, narrow, wide = FOUND[name]
    page, plan = Page(), PLAN | change | {"n": "4000"}
    assert wide in page.ask("known", plan)["words"]
    blur = page.ask("blur", plan)
    assert narrow in blur["says"]
    assert f"noise up to {blur['error']:.3g} " in blur["says"]
    assert wide.replace("within", "up to") in blur["also"][0]
    assert "of ε for finding its radius" in blur["also"][1]
    assert not blur["useless"]
    whole = sf.mechanisms.forecast(
        page.studio.region(from_page(plan, Request))[0], 4000, 1.0, find="ball" if plan.get("prior") else "radius"
    )
    assert blur["error"] == pytest.approx(whole[0].error_95 / 4)
    assert "say in step 1" in page.refused("known", {"prior": "whole"})


def test_stopping(studio_folder):
    page = Page()
    assert page.post("stop").json() == {"stopped": True}
    assert page.stopped == [True]


def test_ctrl_c_ends_it(studio_folder):
    command = [sys.executable, "-m", "sfumato", "studio", "--no-browser", "wings.tps"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_env()) as process:
        door = process.stdout.readline().split()[-1]
        assert httpx.get(door).status_code == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The studio has stopped" in out
    assert "no release is half made" in err


# -- the same as the others ---------------------------------------------------------------------------------------------------
PUBLIC = {"labels_are_public": True, "invalid": "center"}
MATRICES = {"files": "matrices.npy", "unit": "one person", "n": "200", "space": "spd"}
GROWN = {"center": "", "radius": "", "public": "public.tps"}
ROSE = {"on": "height", "limits": "0:9"}
SAME = {
    "ball": {},
    "sample": {"center": "", "radius": "", "public": "public.tps"},
    "modes": {"center": "", "radius": "", "public": "public.tps", "modes": "3"},
    "relation": {"center": "", "radius": "", "public": "public.tps", "relation": "same"},
    "smooth": {"smooth": True, "modes": "4"},
    "open": {"open": True},
    "laplace": {"mechanism": "laplace"},
    "population": {"inference": "0.1", "links": "outline"},
    "by column": {"unit": "", "unit_column": "ID"},
    "directions": {"files": "places.csv", "center": "pole.csv", "unit": "one place", "n": "90"},
    "matrices": {**MATRICES, "center": "identity", "radius": "1.5"},
    "symmetric": {"symmetric": "2-8,3-7,4-6"},
    "symmetric sample": {"center": "", "radius": "", "public": "public.tps", "symmetric": "2-8,3-7,4-6"},
    "found radius": {"radius": "0.4", "find_radius": True},
    "found ball": {"radius": "", "prior": "0.4"},
    "whole sphere": {
        "files": "places.csv",
        "center": "",
        "radius": "",
        "prior": "whole",
        "unit": "one place",
        "n": "90",
    },
    "range": {**MATRICES, "center": "", "radius": "", "prior": "1e-3:1000", "inference": "0.1"},
    "groups": {"files": "places.csv", "center": "pole.csv", "unit": "one place", "n": "90", "by": "side", **PUBLIC},
    "groups of a table": {"by": "sex", "labels": "sexes.csv", "smooth": True, **PUBLIC},
    "groups of files": {"files": "both", "n": "40", "by": "file", "symmetric": "2-8,3-7,4-6", **PUBLIC},
    "factors of a table": {"by": "sex", "within": "site", "labels": "sexes.csv", **PUBLIC},
    "change with size": {**GROWN, "on": "size", "limits": "1:9", "symmetric": "2-8,3-7,4-6"},
    "change by a table": {**GROWN, "on": "age", "limits": "0:120", "labels": "sexes.csv"},
    "change in groups": {"on": "age", "limits": "0:120", "by": "sex", "labels": "sexes.csv", **PUBLIC},
    "change by a column": {"files": "places.csv", "center": "pole.csv", "unit": "one place", "n": "90", **ROSE},
}


@pytest.mark.parametrize("name", SAME)
def test_studio_command_and_python_give_the_same_record(studio_folder, name):
    rng = np.random.default_rng(3)
    rows = [f"{10 + x:.4f},{20 + y:.4f},{'east' if y > 0 else 'west'},{x:.1f}" for x, y in rng.normal(0, 2, (90, 2))]
    Path("places.csv").write_text("\n".join(["lat,lon,side,height", *rows]) + "\n")
    rows = [f"{i},{'mf'[i % 2]},{'AB'[i // 60]},{i}" for i in range(120)]
    Path("sexes.csv").write_text("\n".join(["ID,sex,site,age", *rows]) + "\n")
    Path("both").mkdir()
    for half in ("a", "b"):
        Path(f"both/{half}.tps").write_text(Path("public.tps").read_text().replace("ID=", f"ID={half}"))
    Path("pole.csv").write_text("lat,lon\n9,21\n")
    tall = rng.normal(size=(200, 30, 2))
    np.save("matrices.npy", np.einsum("nki,nkj->nij", tall, tall) / 30)
    plan = {**PLAN, **SAME[name], "allow_useless": True}
    page = Page()
    job = page.release(plan)
    assert job["stage"] == "done", job["refusal"]
    records = [_public("mean.json")]
    words = shlex.split(job["command"])
    assert words[-6:] == ["--out", "mean-2.json", "--plot", "mean-2.png", "--report", "mean-2.html"]  # free names
    result = CliRunner().invoke(cli.app, words[1:] if name in ("ball", "groups") else words[1:-4])
    assert result.exit_code == 0, result.output
    records.append(_public("mean-2.json"))
    Path("mean-2.json").unlink()
    exec(job["python"], {})
    records.append(_public("mean-2.json"))
    if (
        "public" not in SAME[name] and not {"prior", "find_radius", "on"} & SAME[name].keys()
    ):  # what is released decides the chart
        assert records[0] == records[1] == records[2]
    paid = [json.loads(entry.record) for entry in charges()]  # all that is public, before the draw
    assert len(paid) == 3
    assert paid[0] | {"time": ""} == paid[1] | {"time": ""} == paid[2] | {"time": ""}
    for key in {"guarantee", "n", "space", "mechanism", "version", "covariate", "baseline"} & records[0].keys():
        assert records[0][key] == records[1][key] == records[2][key]


def _public(path):
    """A record without its value, what follows from that, and its time; of groups, those of all of them."""
    record = json.loads(Path(path).read_text())
    if "groups" in record:
        groups = {name: _stripped(each) for name, each in record["groups"].items()}
        return {**{key: record[key] for key in record.keys() - {"sha256"}}, "groups": groups}
    return _stripped(record)


def _stripped(record):
    for part, drawn in (("spread", "second_moment"), ("chart", "point")):
        record.get(part, {}).pop(drawn, None)
    return {key: record[key] for key in record.keys() - {"value", "time", "sha256", "unprojected", "bias", "degrees"}}


# -- words --------------------------------------------------------------------------------------------------------------
def test_a_fix_is_said_by_the_option_or_by_the_label_of_its_field():
    error = Refusal(
        "give ", Fix("unit_column", "subject"), ", ", Fix("unit", "one record"), " or ", Fix("smooth", True)
    )
    assert error.say(as_option) == "give --unit-column subject, --unit 'one record' or --smooth"
    whose = "“Some have several records, and a column says whose” (subject)"
    assert error.say(in_page) == f"give {whose}, “Each record counts by itself, though …” or “a closed outline”"
    page = (Path(server.__file__).parent / "page.html").read_text(encoding="utf-8")
    for part in fields(Request):
        words = in_page(Fix(part.name, ...))
        assert words
        assert "--" not in words
        if wish_of(part).page and part.name not in (
            "read_as",
            "task",
            "files",
            "smooth",
            "open",
            "bending",
            "find_radius",
        ):
            assert f'id="{part.name}"' in page, part.name


def test_what_the_page_has_no_field_for_it_cannot_send(studio_folder):
    """Least of all leave to replace a file, or a file to write beside the record."""
    for name, value in {"force": True, "plot": "x.png", "check": 0, "memory": "1GB", "scheduler": "tcp://x"}.items():
        assert "not known here" in Page().refused("plan", PLAN | {name: value})


def test_the_first_page_needs_no_numerical_library():
    """It comes at once: what is slow to load is loaded meanwhile."""
    code = (
        "import sys, sfumato.app.studio.server as s; s.make_app(print, print, 1, print); "
        "print([m for m in ('scipy', 'matplotlib', 'numba', 'sfumato.spaces') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_env())
    assert done.stdout.strip() == "[]"


def test_a_port_in_use_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match="is in use"):
            server.serve("", "", taken.getsockname()[1], False, print)


@pytest.mark.parametrize(
    "given", [{"labels_are_public": "false"}, {"allow_useless": 1}, {"n": True}, {"n": 12.7}, {"epsilon": True}]
)
def test_a_yes_is_a_yes_and_a_number_a_number(given):
    """ "false" is no leave to publish groups, and 12.7 are not 12 records."""
    with pytest.raises(ValueError, match=r"not understood|not a whole number"):
        from_page(given, Request)


def test_a_million_may_be_typed_as_one():
    assert from_page({"n": "1e6"}, Request).n == 10**6
    assert from_page({"n": "12345678901234567890"}, Request).n is not None
    for much in ("1e400", "many"):
        with pytest.raises(ValueError, match="is not a number"):
            from_page({"n": much}, Request)
