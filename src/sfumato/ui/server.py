"""The server of the page: this machine alone, by a secret address, and nothing from anywhere else."""

from __future__ import annotations

import json
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

from .choices import Choices
from .studio import PLAIN, Studio, refusal

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise ValueError(f"the studio needs the package {error.name}: pip install 'sfumato[studio]'") from None

HOST = "127.0.0.1"
MOST_JSON = 1 << 20  # bytes
PAGE = {"": "page.html", "page.css": "page.css", "page.js": "page.js"}
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
}
TYPES |= {".svg": "image/svg+xml", ".csv": "text/csv", ".tps": "text/plain"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; "
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


class Guard:
    """Lets through what comes from the page itself, at its secret address, and puts the strict headers on every answer.

    The secret is the first part of the path.  (A cookie would go to every other port of this machine too.)  ``once`` is another
    one, for the command that opens the browser, which others on the machine may see: it leads to the page a single time.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app, self.token, self.once = app, secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.hosts = (f"{HOST}:{port}", f"localhost:{port}")

    @property
    def address(self) -> str:
        return f"http://{self.hosts[0]}/{self.token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        first, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        answer: Response | None = self.refused(scope)
        if answer is None and self.once and secrets.compare_digest(first.encode(), self.once.encode()):
            self.once = ""
            answer = Response(status_code=303, headers={"Location": self.address})
        elif answer is None and not secrets.compare_digest(first.encode(), self.token.encode()):
            answer = _no("this is not the address of the studio: use the one that its command printed", 403)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        if answer is None:
            await self.app({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, with_headers)
        else:
            await answer(scope, receive, with_headers)

    def refused(self, scope: Scope) -> Response | None:
        """The answer to a request that does not come from the page or the address bar."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0] not in self.hosts:
            return _no(f"the studio answers to {HOST} alone, not to another name", 421)
        origin, site = headers.get(b"origin", []), headers.get(b"sec-fetch-site", [])
        theirs = any(each != f"http://{host[0]}" for each in origin) or any(
            each not in ("same-origin", "none") for each in site
        )
        if theirs or (scope["method"] not in ("GET", "HEAD") and not origin):
            return _no("another page asked for this: the studio answers to its own page alone", 403)
        return None


def _json(found: Any, status: int = 200) -> Response:
    """As ASCII: names of files may hold what is no text."""
    return Response(json.dumps(found, allow_nan=False), status, media_type="application/json")


def _no(words: str, status: int) -> Response:
    return _json({"refusal": words}, status)


class Answers:
    """What the page asks, and the files that it is made of."""

    def __init__(self, studio: Studio, stop: Callable[[], None]) -> None:
        self.studio, self.stop = studio, stop
        self.work: dict[str, Callable[[Choices, dict[str, Any]], Any]] = {
            "inspect": lambda choices, _: studio.inspect(choices),
            "known": lambda choices, _: studio.known(choices),
            "blur": lambda choices, _: studio.blur(choices),
            "curve": lambda choices, _: studio.curve(choices),
            "ledger": lambda choices, _: studio.ledger(choices),
            "plan": lambda choices, _: studio.plan(choices),
            "release": lambda choices, more: studio.release(choices, str(more.get("confirm")), more.get("seen")),
            "open": lambda choices, _: studio.open(choices),
        }

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

    async def page(self, request: Request) -> Response:
        name = PAGE.get(request.path_params.get("name", ""))
        if name is None:
            return _no("there is no such page", 404)
        return _typed(name, files(__package__).joinpath(name).read_bytes())

    async def state(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self.studio.state))

    async def job(self, request: Request) -> Response:
        found = self.studio.job(request.path_params["id"])
        return _no("there is no such release: load the page again", 404) if found is None else _json(found.facts())

    async def ask(self, request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_JSON:
                return _no("the page sent too much at once", 413)
        work = self.work.get(request.path_params["what"])
        if work is None:
            return _no("the page asked for what is not here: load it again", 404)
        try:
            asked = json.loads(bytes(body))
            if not isinstance(asked, dict) or not isinstance(asked.get("choices"), dict):
                raise ValueError("the page sent what is not understood: load it again")
            return _json(await run_in_threadpool(work, Choices.of(asked["choices"]), asked))
        except PLAIN as error:
            return _no(refusal(error), 422)

    async def drop(self, request: Request) -> Response:
        try:
            path = self.studio.drop(request.query_params.get("name", ""))
            try:
                with path.open("wb") as file:
                    async for chunk in request.stream():
                        file.write(chunk)
            except BaseException:
                path.unlink(missing_ok=True)  # half a file is none
                raise
            return _json({"path": str(path)})
        except PLAIN as error:
            return _no(refusal(error), 422)
        except ClientDisconnect:
            return _no("the file did not arrive whole", 400)

    async def take(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            content = await run_in_threadpool(self.studio.take, request.path_params["id"], name)
        except PLAIN as error:
            return _no(refusal(error), 404)
        response = _typed(name, content)
        if request.query_params.get("show") is None:
            response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    async def end(self, request: Request) -> Response:
        self.stop()
        return _json({"stopped": True})


def make_app(studio: Studio, stop: Callable[[], None], port: int) -> Guard:
    """The page and what it asks, behind its guard."""
    return Guard(Starlette(routes=Answers(studio, stop).routes), port)


def _typed(name: str, content: bytes) -> Response:
    kind = TYPES.get(Path(name).suffix, "application/octet-stream")
    return Response(content, media_type=kind)


def serve(file: str, ledger: str, port: int, browser: bool, tell: Callable[[str], None]) -> None:
    """Serve the page until it is told to stop; a release that is being made is finished first."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind((HOST, port))
            own.listen()  # from now on a browser waits for the first answer
        except (OSError, OverflowError):
            raise ValueError(f"--port {port}: is in use or not allowed; choose another, or leave --port out") from None
        studio = Studio(file, ledger)
        guard = make_app(studio, lambda: setattr(server, "should_exit", True), own.getsockname()[1])
        server = uvicorn.Server(
            uvicorn.Config(guard, lifespan="off", ws="none", log_level="warning", access_log=False, server_header=False)
        )
        tell(
            f"The studio is open at {guard.address}\nIt runs on this machine alone. Ctrl-C, or the button in the page, ends it."
        )
        Thread(target=_warm, daemon=True).start()
        if browser:
            once = guard.address.replace(guard.token, guard.once)
            Thread(target=webbrowser.open, args=(once,), daemon=True).start()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # after what follows, not at once
        try:
            server.run(sockets=[own])
        finally:
            studio.wait()
            tell("The studio has stopped.")


def _warm() -> None:
    """Load what the first answers need while the curator reads the page, which comes first."""
    sleep(0.3)
    from .. import cli, mechanisms, views  # noqa: F401
