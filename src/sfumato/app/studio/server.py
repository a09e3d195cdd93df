"""The server of the page: this machine alone, by a secret address, and nothing from anywhere else."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .. import PLAIN
from ..request import Request, from_page, in_page, sentence

if TYPE_CHECKING:
    from .studio import Studio

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.requests import Request as Asked
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise ValueError(f"the studio needs the package {error.name}: pip install starlette uvicorn") from None

HOST = "127.0.0.1"
MOST_JSON = 1 << 20  # bytes
MOST_CODE = 1000
MOST_DROPPED = 256 << 20  # of one file
MOST_HELD = 1 << 30  # of all that is dropped: it may fill the memory, where temporary files are kept there
GRACE = 3  # seconds: a request that is still under way when the studio ends is cut off then
ASKS = ("inspect", "look", "make", "release", "open")
PAGE = {"": "page.html", "page.css": "page.css", "page.js": "page.js"}
DOOR = {"/": "door.html", "/page.css": "page.css"}  # anyone may see these
TYPES = {".css": "text/css", ".csv": "text/csv", ".html": "text/html", ".js": "text/javascript", ".tps": "text/plain"}
TYPES |= {".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all some browsers hide where a POST comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# The browser is told the name of this file alone: others see the commands that run on a machine, but cannot read the file.
OPENER = """<!doctype html><meta charset="utf-8"><title>sfumato studio</title>
<form method="post" action="{door}"><input type="hidden" name="code" value="{code}"><button>Open the studio</button></form>
<script>document.forms[0].submit()</script>
"""
STOLEN = (
    "SOMEONE ELSE MAY HAVE OPENED THIS STUDIO: the code that opens it was used a second time, so the studio ends now. Close "
    "its page. If it was you, in another window, start the studio again. If not, someone who can read your screen or your "
    "files may have seen your records: tell whoever looks after this machine"
)


class Guard:
    """Lets through what comes from the page itself, at its secret address, and puts the strict headers on every answer.

    The secret is the first part of the path.  (A cookie would go to every other port of this machine too.)  ``code`` opens the
    door at ``/`` and leads to the page a single time; when it comes again, the page is shut and the studio ends.  ``opener`` is
    the file that brings it.
    """

    def __init__(self, app: ASGIApp, port: int, stop: Callable[[], None], tell: Callable[[str], None]) -> None:
        self.app = app
        self.token = secrets.token_urlsafe(32)
        self.code = secrets.token_urlsafe(32)
        self.host = f"{HOST}:{port}"
        self.door = f"http://{self.host}/"
        self.stop = stop
        self.tell = tell
        self.used = 0
        self.opener = Path()

    @property
    def address(self) -> str:
        return f"{self.door}{self.token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        first, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        answer: Response | None = self.refused(scope)
        if answer is None and scope["path"] == "/" and scope["method"] == "POST":
            answer = await self.enter(receive)
        elif answer is None and scope["path"] in DOOR:
            answer = _part(DOOR[scope["path"]])
        elif answer is None and not secrets.compare_digest(first.encode(), self.token.encode()):
            answer = _no(f"this is not the address of the studio: paste its code at {self.door}", 403)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        if answer is None:
            await self.app({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, with_headers)
        else:
            await answer(scope, receive, with_headers)

    async def enter(self, receive: Receive) -> Response:
        """Return the way to the page for the code, once."""
        body = b""
        more = True
        while more and len(body) < MOST_CODE:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        given = parse_qs(body.decode("latin-1")).get("code", [""])[0].strip()
        if not secrets.compare_digest(given.encode(), self.code.encode()):
            return _sorry("This is not the code that the studio's command printed: go back and paste it")
        self.used += 1
        if self.used > 1:
            self.token = secrets.token_urlsafe(32)  # whoever is in is out
            self.tell(f"\n{STOLEN}.\n")
            self.stop()
            return _sorry(STOLEN)
        if self.opener.is_file():
            self.opener.unlink()
        # A redirect would still count as a request of the file's, and not of the studio's own page.
        return Response(headers={"Refresh": f"0; url={self.address}"}, media_type="text/html")

    def refused(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not come from the page or the address bar."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self.host]:
            return _no(f"the studio answers to {HOST} alone, not to another name", 421)
        origin = headers.getlist("origin")
        if (scope["method"], scope["path"], origin) == ("POST", "/", ["null"]):
            return None  # from a file, as the one that opens the browser: the code decides
        theirs = {*origin} - {f"http://{self.host}"} or {*headers.getlist("sec-fetch-site")} - {"same-origin", "none"}
        if theirs or (scope["method"] not in ("GET", "HEAD") and not origin):
            return _no("another page asked for this: the studio answers to its own page alone", 403)
        return None


def _json(found: Any, status: int = 200) -> Response:
    """As ASCII: names of files may hold what is no text."""
    return Response(json.dumps(found, allow_nan=False), status, media_type="application/json")


def _no(words: str, status: int) -> Response:
    return _json({"refusal": words}, status)


def _sorry(words: str) -> Response:
    """Return a refusal for a person's eyes."""
    return Response(f"{words}.", 403, media_type="text/plain")


async def _refuse(request: Asked, error: Exception) -> Response:
    """Return the answer to a request that failed: a sentence."""
    if isinstance(error, HTTPException):
        return _no(error.detail, error.status_code)
    return _no(sentence(error, in_page), 404 if request.method == "GET" else 422)


class Answers:
    """What the page asks, and the files that it is made of; ``studio`` returns what answers, once it is loaded."""

    def __init__(self, studio: Callable[[], Studio], stop: Callable[[], None]) -> None:
        self.studio = studio
        self.stop = stop
        self.held = 0  # bytes of what was dropped

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/api/state", self.state),
            Route("/api/job/{id}", self.job),
            Route("/api/drop", self.drop, methods=["POST"]),
            Route("/api/stop", self.end, methods=["POST"]),
            Route("/api/{what}", self.ask, methods=["POST"]),
            Route("/take/{id}/{name}", self.take),
            Route("/{name}", self.page),
        ]

    async def _call(self, what: str, *arguments: Any) -> Any:
        """Return what a method of the studio gives, in a thread of its own."""
        return await run_in_threadpool(lambda: getattr(self.studio(), what)(*arguments))

    async def page(self, request: Asked) -> Response:
        name = PAGE.get(request.path_params.get("name", ""))
        if name is None:
            raise HTTPException(404, "there is no such page")
        return _part(name)

    async def state(self, request: Asked) -> Response:
        return _json(await self._call("state"))

    async def job(self, request: Asked) -> Response:
        job = await self._call("job", request.path_params["id"])
        if job is None:
            raise HTTPException(404, "there is no such release: load the page again")
        return _json(job.facts())

    async def ask(self, request: Asked) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_JSON:
                raise HTTPException(413, "the page sent too much at once")
        what = request.path_params["what"]
        if what not in ASKS:
            raise HTTPException(404, "the page asked for what is not here: load it again")
        asked = json.loads(bytes(body))
        if not isinstance(asked, dict) or not isinstance(asked.get("choices"), dict):
            raise ValueError("the page sent what is not understood: load it again")
        wishes = from_page(asked["choices"], Request)
        await self._call("check", wishes)
        more = [str(asked.get("confirm")), asked.get("seen")] if what == "release" else []
        found = await self._call(what, wishes, *more)
        if what != "look":
            return _json(found)
        lines = (json.dumps({"part": part, **shown}, allow_nan=False) + "\n" for part, shown in found)
        return StreamingResponse(lines, media_type="application/x-ndjson")  # each line is sent once it is made

    async def drop(self, request: Asked) -> Response:
        path = await self._call("drop", request.query_params.get("name", ""))
        size = 0
        fits = True
        try:
            with path.open("wb") as file:
                async for chunk in request.stream():  # all of it: a browser hears no answer before it has sent all
                    fits = fits and size + len(chunk) <= MOST_DROPPED and self.held + len(chunk) <= MOST_HELD
                    if fits:
                        size += len(chunk)
                        self.held += len(chunk)
                        file.write(chunk)
            if not fits:
                raise ValueError(
                    f"{path.name}: is too large to be dropped: one file may have {MOST_DROPPED >> 20} MB, and all together "
                    f"{MOST_HELD >> 20} MB; start the studio in the folder where the file lies, and type its name"
                )
        except BaseException:
            path.unlink(missing_ok=True)  # half a file is none
            self.held -= size
            raise
        return _json({"path": str(path)})

    async def take(self, request: Asked) -> Response:
        name = request.path_params["name"]
        response = _typed(name, await self._call("take", request.path_params["id"], name))
        if request.query_params.get("show") is None:
            response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    async def end(self, request: Asked) -> Response:
        self.stop()
        return _json({"stopped": True})


def make_app(studio: Callable[[], Studio], stop: Callable[[], None], port: int, tell: Callable[[str], None]) -> Guard:
    """Return the page and what it asks, behind its guard."""
    handlers: dict[Any, Any] = dict.fromkeys((HTTPException, ClientDisconnect, *PLAIN), _refuse)
    return Guard(Starlette(routes=Answers(studio, stop).routes, exception_handlers=handlers), port, stop, tell)


def _part(name: str) -> Response:
    """Return a file that the page is made of."""
    return _typed(name, files(__package__).joinpath(name).read_bytes())


def _typed(name: str, content: bytes) -> Response:
    kind = TYPES.get(Path(name).suffix, "application/octet-stream")
    return Response(content, media_type=kind)


def serve(file: str, ledger: str, port: int, browser: bool, tell: Callable[[str], None]) -> None:
    """Serve the page until it is told to stop; a release that is being made is finished first."""

    def load() -> Studio:  # what the answers need, while the curator reads the page, which comes first
        from .studio import Studio

        return Studio(file, ledger)

    with socket.socket() as own, TemporaryDirectory(prefix="sfumato-studio-") as folder:
        if sys.platform != "win32":  # where it would let others listen on the same port
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind((HOST, port))
            own.listen()  # from now on a browser waits for the first answer
        except (OSError, OverflowError):
            raise ValueError(f"--port {port}: is in use or not allowed; choose another, or leave it out") from None
        loading = ThreadPoolExecutor(1).submit(load)
        guard = make_app(loading.result, lambda: setattr(server, "should_exit", True), own.getsockname()[1], tell)
        how: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_level": "warning", "access_log": False}
        how |= {"server_header": False, "timeout_graceful_shutdown": GRACE}
        server = uvicorn.Server(uvicorn.Config(guard, **how))
        tell(
            f"The studio is open at {guard.door}\n"
            f"If your browser does not show it, open that address and paste this code, which works once: {guard.code}\n"
            "It runs on this machine alone. Ctrl-C, or the button in the page, ends it."
        )
        if browser:
            guard.opener = Path(folder, "open.html")
            guard.opener.touch(0o600)
            guard.opener.write_text(OPENER.format(door=guard.door, code=guard.code), encoding="utf-8")
            Thread(target=webbrowser.open, args=(guard.opener.as_uri(),), daemon=True).start()
        try:
            server.run(sockets=[own])
        finally:
            loading.result().wait()
            tell("The studio has stopped.")
        if guard.used > 1:
            sys.exit(1)
