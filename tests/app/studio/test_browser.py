"""The studio in a real browser: every step, every kind of refusal, and what must never be spent twice."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from base64 import b64decode
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest

import sfumato as sf
from sfumato.app import demo
from sfumato.app.studio import server
from sfumato.app.studio.studio import Studio

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser installs it")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
BROWSERS = [*(["chromium"] if CHROMIUM and DRIVER else []), *(["firefox"] if FIREFOX else [])]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not BROWSERS,
        reason="no chromium with its chromedriver and no firefox is found: make test-browser installs both",
    ),
]
ROOT = Path(__file__).parents[3]
AXE = ROOT / ".axe" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = ROOT / "studio-output"  # what a person would see
WIDTHS = (1280, 390)
WebDriverException = pytest.importorskip("selenium.common.exceptions").WebDriverException
SECONDS = 30  # to wait for what must come
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)


@contextmanager
def chromium(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


COMMANDS = {
    "newSession": "NewSession",
    "get": "Navigate",
    "clickElement": "ElementClick",
    "sendKeysToElement": "ElementSendKeys",
    "w3cExecuteScript": "ExecuteScript",
    "w3cExecuteScriptAsync": "ExecuteAsyncScript",
    "w3cGetCurrentWindowHandle": "GetWindowHandle",
    "close": "CloseWindow",
    "getCurrentUrl": "GetCurrentURL",
    "screenshot": "TakeScreenshot",
}


class Marionette:
    """Selenium's commands to Firefox over its own socket, as geckodriver would send them: Debian has no geckodriver."""

    def __init__(self, port):
        self.socket, self.sent = socket.create_connection(("127.0.0.1", port)), 0
        self.answers = self.socket.makefile("rb")
        self.answer()  # what it is

    def answer(self):
        length = b""
        while (digit := self.answers.read(1)) not in (b":", b""):
            length += digit
        return json.loads(self.answers.read(int(length)))

    def execute(self, command, given):
        name, self.sent = COMMANDS.get(command, command[0].upper() + command[1:]), self.sent + 1
        full = name if ":" in name else f"WebDriver:{name}"
        text = json.dumps([0, self.sent, full, {} if name == "NewSession" else given]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        error, found = self.answer()[2:]
        if error is not None:
            raise WebDriverException(f"{error['error']}: {error['message']}")
        return {"value": found["value"] if isinstance(found, dict) and found.keys() == {"value"} else found}

    def close(self):
        self.answers.close()
        self.socket.close()


@contextmanager
def firefox(profile):
    prefs = {"marionette.port": 0, "toolkit.legacyUserProfileCustomizations.stylesheets": True}
    (profile / "user.js").write_text(
        "".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in prefs.items())
    )
    (profile / "chrome").mkdir()
    (profile / "chrome" / "userChrome.css").write_text(":root { min-width: 0 !important; }")  # as narrow as a phone
    flags = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", str(profile)]
    command = [FIREFOX, *flags, "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            noted, until = profile / "MarionetteActivePort", time.monotonic() + SECONDS
            while not (noted.exists() and noted.read_text()):
                assert time.monotonic() < until, "Firefox does not start"
                time.sleep(0.05)
            wire = Marionette(int(noted.read_text()))
            driver = webdriver.Remote(wire, options=webdriver.FirefoxOptions())
            driver.set_window_rect(0, 0, 1280, 900)
            yield driver
            wire.close()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Each browser, started once, when it is asked for."""
    with ExitStack() as stack:
        yield lru_cache(lambda name: stack.enter_context(globals()[name](tmp_path_factory.mktemp(name))))


@pytest.fixture
def driver(started):
    return started(BROWSERS[0])


@pytest.fixture(params=BROWSERS)
def each_driver(started, request):
    return started(request.param)


PATCHED = """
import sys, time
from sfumato.release import Release
from sfumato.app.cli import main
def stuck(*_, **__):
    print("stuck", flush=True)
    time.sleep(600)
Release.save = stuck
main()
"""


@contextmanager
def served(*arguments, code=None):
    """A studio of its own process: the process, and its address for the code that it printed."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "sfumato"]), "studio", "--no-browser", *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            door, code = process.stdout.readline().split()[-1], process.stdout.readline().split()[-1]
            form = urlencode({"code": code}).encode()
            with urlopen(Request(door, form, {"Origin": "null"})) as answer:
                yield process, answer.headers["Refresh"].removeprefix("0; url=")
        finally:
            process.kill()


@contextmanager
def beside(file="", ledger="", token="", port=0):
    """A studio within this process, which starts at once: its address.  One that died is back with its token and port."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((server.HOST, port))
        own.listen()
        studio = Studio(file, ledger)
        guard = server.make_app(lambda: studio, lambda: None, own.getsockname()[1], print)
        guard.token = token or guard.token
        runs = server.uvicorn.Server(server.uvicorn.Config(guard, lifespan="off", ws="none", log_level="warning"))
        thread = threading.Thread(target=runs.run, kwargs={"sockets": [own]})
        thread.start()
        try:
            yield guard.address
        finally:
            runs.should_exit = True
            thread.join()
            studio.wait()


@contextmanager
def as_wide_as(driver, width):
    """The page in a window of this width, such as a phone's."""

    def resize(wide):
        if driver.caps["browserName"] == "firefox":
            driver.set_window_rect(0, 0, wide, 900)
        else:
            size = {"width": wide, "height": 800, "deviceScaleFactor": 1, "mobile": wide < 500}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    resize(width)
    try:
        yield
    finally:
        resize(1280)


@contextmanager
def coloured(driver, scheme):
    """Pages as somebody sees them who prefers light or dark ones."""

    def prefer(name):
        if driver.caps["browserName"] == "firefox":
            number = {"dark": 0, "light": 1}[name]
            driver.execute("Marionette:SetContext", {"value": "chrome"})
            driver.execute_script(
                "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])", number
            )
            driver.execute("Marionette:SetContext", {"value": "content"})
        else:
            seen = {"features": [{"name": "prefers-color-scheme", "value": name}]}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", seen)

    prefer(scheme)
    try:
        yield
    finally:
        prefer("light")


class Page:
    """The page as a person uses it."""

    def __init__(self, driver, address):
        self.driver = driver
        self.requests()
        driver.get(address)
        self.complaints()  # of pages before
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def __getitem__(self, id):
        """An element, with the folded parts that it stands in unfolded; in the middle, where nothing covers it."""
        return self.reach(self.driver.find_element("id", id))

    def reach(self, found):
        unfold = "for (let e = arguments[0]; (e = e.parentElement?.closest('details')); ) e.open = true;"
        self.driver.execute_script(f"{unfold} arguments[0].scrollIntoView({{block: 'center'}})", found)
        return found

    def wait(self, script, *arguments):
        until = time.monotonic() + SECONDS
        while not (found := self.driver.execute_script(script, *arguments)):
            assert time.monotonic() < until, f"waited in vain for: {script} {arguments}\n{self.text()}"
            time.sleep(0.03)
        return found

    def text(self):
        return self.driver.find_element("tag name", "main").text

    def says(self, id, words):
        script = (
            "const e = document.getElementById(arguments[0]); return !e.hidden && e.textContent.includes(arguments[1])"
        )
        self.wait(script, id, words)

    def pick(self, name, value):
        """By the keyboard, too."""
        self.reach(self.driver.find_element("css selector", f"input[name={name}][value={value}]")).send_keys(" ")

    def fill(self, id, text):
        """Typed over what is there, and left with the tabulator."""
        self.driver.execute_script("arguments[0].select?.()", self[id])
        self[id].send_keys(text or "\ue017", "\ue004")

    def plan(self, settled="will be spent", **changes):
        """All five steps up to the confirmation."""
        self.pick("who", "unit")
        given = {"unit": "one wing", "file": "wings.tps", "n": "120", "epsilon": "1", "out": "mean.json", **changes}
        self.pick("how", "center")
        for id, text in {"center": "reference.tps", "radius": "0.2", **given}.items():
            self.fill(id, text)
        self.says("means", "Within")
        self.says("spend", settled)

    def settled(self):
        """Wait until all that was asked is answered."""
        self.wait("return document.getElementById('do').textContent !== 'One moment…'")

    def disabled(self, words):
        """Wait until the button says why it cannot be pressed."""
        self.says("do", words)
        assert not self["do"].is_enabled()

    def release(self, confirm="release"):
        """By the keyboard: a picture that is drawn meanwhile moves the button."""
        self.wait("return !document.getElementById('do').disabled")
        self["confirm"].send_keys(confirm, "\ue007")

    def requests(self):
        """What was asked for since the page was loaded, of whomever, as the browser itself logged it, where it does."""
        log = self.driver.get_log("performance") if hasattr(self.driver, "get_log") else []
        sent = [json.loads(entry["message"])["message"] for entry in log]
        sent = [one["params"] for one in sent if one["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if one["documentURL"].startswith("http")]

    def complaints(self):
        """What the browser itself complains of, a broken script or a blocked request, where it says it."""
        log = self.driver.get_log("browser") if hasattr(self.driver, "get_log") else []
        return [entry["message"] for entry in log if "422" not in entry["message"]]


def charges():
    return [entry for entry in sf.Ledger("study.ledger").verify().entries if entry.kind == "charge"]


def test_from_a_file_to_a_report_and_never_charged_twice(studio_folder, each_driver):
    driver = each_driver
    with served("wings.tps", "--ledger", "study.ledger") as (process, address):
        page = Page(driver, address)
        assert not page["file"].is_enabled()  # whom to protect is asked first
        page.says("waits", "Say first whom you protect")
        page.pick("who", "unit")
        page.fill("unit", "one wing")
        assert page["file"].get_property("value") == "wings.tps"
        page["inspect"].click()
        page.says("seen", "120 records of 8 landmarks")
        assert "Curator only" in page["seen"].text
        assert page["n"].get_property("value") == "120"
        page.pick("how", "center")
        page.fill("center", "reference.tps")
        page.fill("radius", "0.2")
        page.says("known-picture", "12 made-up records")
        page.says("blur-picture", "What would be released")
        page.says("means", "e^1 = 2.72")
        page.says("left", "3 of 3 is left")
        before = page["means"].text
        page.says("curve-picture", "your choice")
        page["epsilon-range"].send_keys("\ue014" * 30)  # to the right, by the keyboard
        page.wait("return document.getElementById('means').textContent !== arguments[0]", before)
        assert float(page["epsilon"].get_property("value")) > 1
        page.fill("epsilon", "1")
        page.says("spend", "ε = 1 will be spent on the mean of 120 records of wings.tps, to protect one wing")
        page.says("spend", "3 now, 2 afterwards")
        said = driver.execute_script("return document.querySelector('#means .big').textContent")
        page.says("spend", said)  # the same error in every step
        far = said.split()[1]
        page.says("whole", f"Error at 95%: {far} (Procrustes distance at size 1)")
        assert not charges()
        page.release("1")
        page.says("home", "Released: ε = 1")
        page.says("home", f"Within {far} (")
        page.says("home", "In study.ledger, ε = 2 is left.")
        page.disabled("Released already")
        assert not driver.find_element("id", "confirm").is_displayed()
        assert len(charges()) == 1
        assert driver.find_elements("css selector", "#taken figure svg .value")
        page.says("home", "sfumato release wings.tps --unit 'one wing' --center reference.tps")
        links = driver.find_elements("css selector", "#taken a.button")
        assert {"Report (HTML)", "Record (JSON)", "Value (TPS)", "Picture (PNG)"} <= {link.text for link in links}
        report = "return fetch(arguments[0]).then(a => a.text())"
        report = driver.execute_script(report, next(x.get_property("href") for x in links if "Report" in x.text))
        assert "What is promised" in report

        driver.refresh()  # a reload after the release
        page.says("home", "Released: ε = 1")
        page.says("spend", "released already")
        page.disabled("Released already")
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")  # a second tab, which knows of it
        tab = Page(driver, address)
        tab.says("home", "Released: ε = 1")
        tab.plan(settled="released already")
        tab.disabled("Released already")
        driver.close()
        driver.switch_to.window(first)
        assert len(charges()) == 1
        own = "return performance.getEntriesByType('resource').map(e => e.name)"
        asked = driver.execute_script(own) + page.requests()
        assert len(asked) > 3
        assert all(name.startswith((address, "data:")) for name in asked)
        assert page.complaints() == []
        page["stop"].click()
        page.says("gone", "has stopped, as you told it")
        assert process.wait(SECONDS) == 0


def test_leave_that_was_given_for_other_records_counts_no_more(studio_folder, driver):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    with beside("twice.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(file="twice.tps")
        page["inspect"].click()
        page.says("seen", "Does it say whose record it is?")
        page.disabled("Still to say: does ID say whose record it is (step 1)")
        page.reach(driver.find_element("xpath", "//button[contains(., 'No: each record by itself')]")).click()
        page.pick("what", "compare")
        page.fill("by", "sex")
        page["labels_are_public"].click()
        ticked = "return ['alone', 'labels_are_public'].map(id => document.getElementById(id).checked)"
        assert driver.execute_script(ticked) == [True, True]
        page.fill("by", "diagnosis")
        assert driver.execute_script(ticked) == [True, False]
        page["labels_are_public"].click()
        page.fill("unit", "one animal")
        assert driver.execute_script(ticked) == [False, True]
        page.fill("file", "wings.tps")
        assert driver.execute_script(ticked) == [False, False]
        page.pick("what", "release")
        page.fill("file", "twice.tps")
        page.says("spend", "will be spent")
        page.release()
        page.says("release-refusal", "“Some have several records, and a column says whose”")
        assert not charges()


def test_numbers_as_people_type_them(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(epsilon="0,5", radius="0,2")
        page.says("spend", "ε = 0.5 will be spent")
        page.says("spend", "In the ledger: 3 now, 2.5 afterwards.")
        page.fill("epsilon", "0")
        page.says("blur-refusal", "psilon")
        page.disabled("Not possible so: see step 3")
        page.fill("epsilon", "1")
        page.says("spend", "ε = 1 will be spent")
        assert not page["blur-refusal"].is_displayed()
        page.fill("radius", "")
        page.says("means", "give the radius too")
        page.says("spend", "what is publicly known (step 2)")
        page.fill("radius", "0.2")
        page.fill("out", "reference.tps")
        page.says("spend", "reference.tps exists already")


def test_a_refusal_that_comes_late_is_not_shown(studio_folder, driver):
    late = """
        const fetched = window.fetch;
        window.fetch = async (...given) => {
          if (String(given[0]).includes("api/look") && given[1].body.includes('"epsilon":"0"')) {
            await new Promise(resolve => setTimeout(resolve, 1500));
            setTimeout(() => { window.late = true; }, 300);
          }
          return fetched(...given);
        };"""
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan()
        driver.execute_script(late)
        page.fill("epsilon", "0")
        page.fill("epsilon", "0.5")
        page.says("spend", "ε = 0.5 will be spent")
        page.wait("return window.late")
        page.says("spend", "ε = 0.5 will be spent")
        assert not page["blur-refusal"].is_displayed()


def test_a_tab_left_behind_cannot_release_again(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan()
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        tab = Page(driver, address)
        tab.plan(out="other.json", epsilon="0.5")
        tab.release()
        tab.says("home", "Released: ε = 0.5")
        driver.close()
        driver.switch_to.window(first)
        page.release()
        page.says("release-refusal", "perhaps in another tab")
        assert len(charges()) == 1


def test_groups_in_a_few_clicks(studio_folder, driver):
    rows = (f"{i},{'mf'[i % 3 == 0]},{'ns'[i // 60]}" for i in range(120))
    Path("sexes.csv").write_text("\n".join(["ID,sex,site", *rows]) + "\n")
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(epsilon="3")
        page.pick("what", "compare")
        page.says("spend", "the column of the groups")
        page.fill("by", "sex")
        page.fill("labels", "sexes.csv")
        page["inspect"].click()
        page.says("seen", "By sex the groups are f (40), m (80).")
        assert page["smallest"].get_property("value") == "40"
        page.says("means", "Two groups of 40 would be told apart in 8 of 10 studies")
        page.says("spend", "whether everybody may know the groups")
        page["labels_are_public"].click()
        page.says("spend", "on the means of the groups of sex among 120 records")
        page.fill("within", "site")
        page["inspect"].click()
        page.says("seen", "By site the groups are n (60), s (60).")
        page.says("spend", "whether everybody may know the groups")  # and the second factor
        page["labels_are_public"].click()
        page.says("spend", "on the means of the groups of sex within site among 120 records")
        assert page["smallest"].get_property("value") == "20"
        page.fill("within", "")
        page["labels_are_public"].click()
        page.says("spend", "on the means of the groups of sex among 120 records")
        assert page["out"].get_property("value") == "comparison.json"
        page.release("3")
        page.says("home", "f (40), m (80), whose groups and sizes are public")
        page.says("home", "sfumato compare wings.tps --by sex --labels sexes.csv --labels-are-public")
        assert driver.find_elements("css selector", "#taken figure svg .second")
        driver.refresh()
        page.says("spend", "released already")
        assert len(charges()) == 1
        assert page.complaints() == []


def test_change_directions_and_variance_in_a_few_clicks(studio_folder, driver):
    """A mean, then what is asked about it: how it changes with size, in which directions records vary, and how much."""
    sf.Ledger.create("wide.ledger", 40, "wings")
    with beside("wings.tps", "wide.ledger") as address:
        page = Page(driver, address)
        page.plan(epsilon="9")
        page.release()
        page.says("home", "Released: ε = 9")
        page.pick("what", "regress")
        page.says("spend", "the column of the number")
        page.fill("on", "size")
        page.says("spend", "the limits of the number")
        page.fill("limits", "0.1:100")
        page.says("means", "A change is seen in 8 of 10 studies if the means of the upper")
        page.says("spend", "how the mean changes with size among 120 records")
        assert page["out"].get_property("value") == "regression.json"
        page["test_only"].send_keys(" ")
        page.settled()
        page.release()
        page.says("home", "Only this test was asked for.")
        page.says("home", "sfumato regress wings.tps --on size --limits 0.1:100 --test-only")
        page.pick("what", "components")
        page.fill("about", "mean.json")
        page.says("means", "directions would be known to within")
        page.release()
        page.says("home", "sfumato components wings.tps --about mean.json")
        page.pick("what", "variance")
        page.says("spend", "the variance of 120 records")
        page.release()
        page.says("home", "sf.private_variance(data, mean")
    assert {sf.Regression.load("regression.json").n, sf.Components.load("components.json").release.n} == {120}


def test_regions_that_are_found_and_symmetric_specimens(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(radius="0.4")
        for find, words in (("radius", "within 0.1 of the centre"), ("ball", "within 0.1 of some point")):
            page["find"].find_element("css selector", f"option[value={find}]").click()
            page.says("means", words)
            page.says("spend", words)
            assert not page["prior"].is_displayed()
        page.fill("symmetric", "2-9")
        page.says("known-refusal", "there are 8 landmarks")
        page.fill("symmetric", "2-8,3-7,4-6")
        page.says("spend", "will be spent")
        page.release()
        page.says("home", "Released: ε = 1")
        page.says("home", "--center reference.tps --prior 0.4 --symmetric 2-8,3-7,4-6")
        page.pick("how", "prior")
        page.says("known-refusal", "Say in step 1 what the records are")
        page["inspect"].click()
        page.says("known-refusal", "has no ball that surely holds all records")
        page.pick("wide", "range")
        page.fill("low", "0.1")
        page.fill("high", "10")
        page.says("known-refusal", "0.1:10")
        page.fill("space", "spd(size=2)")  # of matrices there is one way to say it
        page.says("between", "All variances lie between two limits")
        page.says("known-picture", "made-up records anywhere within")
        assert not driver.find_element("css selector", "input[name=wide][value=whole]").is_displayed()
        assert len(charges()) == 1
        assert page.complaints() == []


def test_refusals_are_shown_where_they_belong_and_cost_nothing(studio_folder, driver):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    with beside(ledger="study.ledger") as address:
        page = Page(driver, address)
        page.pick("who", "unit")
        page.fill("file", "gone.tps")
        page["inspect"].click()
        page.says("data-refusal", "gone.tps")
        page.pick("how", "center")
        page.fill("center", "gone.tps")
        page.fill("radius", "0.2")
        page.says("known-refusal", "there is no such file")
        page["mechanism"].find_element("xpath", "option[.='laplace']").click()  # which is planned at once
        page.plan(file="twice.tps")
        page.fill("radius", "2")
        page.says("blur-refusal", "The radius may be at most 0.74 here, not 2; 0.1 to 0.2 is usual for shapes.")
        page.fill("radius", "0.2")
        page.says("blur-picture", "What would be released")
        for change, confirm, words in (  # without a word to confirm, the button itself says why it cannot be pressed
            ({}, "yes", "type the word release"),
            ({"epsilon": "4"}, "", "Too little budget: 3 is left"),
            ({"epsilon": "1", "n": "100"}, "release", "“Some have several records, and a column says whose”"),
            ({"n": "120", "file": "wings.tps", "epsilon": "0.03"}, "", "Useless so: see step 3"),
            ({"epsilon": "1", "n": "99"}, "release", "set n to 120"),
            ({"n": "120", "out": "reference.tps"}, "", "reference.tps exists already"),
            ({"out": "mean.json", "ledger": "gone.ledger"}, "", "The ledger is not there yet"),
            ({"ledger": ""}, "yes", "type the word release"),
        ):
            for id, text in change.items():
                page.fill(id, text)
            page.settled()
            page.driver.execute_script("document.getElementById('confirm').value = ''")
            if confirm:
                page.release(confirm)
                page.says("release-refusal", words)
            else:
                page.disabled(words)
            page.wait("return document.getElementById('useless-field').hidden !== arguments[0]", "Useless" in words)
        np.save("vectors.npy", np.random.default_rng(0).normal(size=(20, 3)))
        page.fill("file", "vectors.npy")
        page["inspect"].click()
        page.says("seen", "does not say what these are")
        page.driver.find_element("xpath", "//div[@id='seen']//button[.='directions']").click()
        page.wait("return !document.getElementById('seen').textContent.includes('does not say')")
        assert page["space"].get_property("value") == "sphere"
        page.fill("space", "")
        page.fill("file", "twice.tps")
        page["inspect"].click()
        page.says("seen", "Does it say whose record it is?")
        page.driver.find_element("css selector", "#seen button").click()
        page.says("seen", "n is set to 119")
        assert page["unit_column"].get_property("value") == "ID"
        assert not charges()
        assert page.complaints() == []


def test_a_server_killed_half_way_spends_nothing_twice(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger", code=PATCHED) as (process, address):
        page = Page(driver, address)
        page.plan()
        page.release()
        while "stuck" not in process.stdout.readline():  # charged, drawn, not yet written
            pass
        process.send_signal(signal.SIGKILL)
        page.says("gone", "has stopped")
    assert len(charges()) == 1
    assert not Path("mean.json").exists()
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.says("left", "2 of 3 is left")
        page.says("left", "no release is noted for it: line 2")
        page.says("home", "Nothing was released yet")
        assert len(charges()) == 1
        page.plan()
        page.release()
        page.says("home", "Released: ε = 1")
    assert len(charges()) == 2  # confirmed anew
    with beside("wings.tps", "study.ledger") as address:  # killed once all was written: it is there
        page = Page(driver, address)
        page.plan(settled="exists already")
        page.disabled("mean.json exists already")
        page["open"].click()
        page.says("home", "Released: ε = 1")
    assert len(charges()) == 2


def test_a_server_killed_before_the_charge_spends_nothing(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger") as (process, address):
        page = Page(driver, address)
        page.plan()
        lock = sqlite3.connect("study.ledger", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        page.release()
        page.says("progress", "Charging the ledger")
        process.send_signal(signal.SIGKILL)
        page.says("gone", "has stopped")
        lock.close()
    assert not charges()
    assert not Path("mean.json").exists()


def test_the_browser_opens_by_a_file_or_by_the_code(studio_folder, each_driver):
    """What the browser is told has no secret; what it is told and what is printed lead to the page, and twice to its end."""
    driver, noted = each_driver, Path("noted").absolute()
    Path("browser").write_text(f'#!/bin/sh\necho "$@" > {noted}.new\nmv {noted}.new {noted}\n')
    Path("browser").chmod(0o700)
    env = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1]), "BROWSER": f"{Path('browser').absolute()} %s"}
    command = [sys.executable, "-m", "sfumato", "studio", "wings.tps"]
    for by_hand in (False, True):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
            try:
                door, code = process.stdout.readline().split()[-1], process.stdout.readline().split()[-1]
                until = time.monotonic() + SECONDS
                while not noted.exists():
                    assert time.monotonic() < until, "no browser was started"
                    time.sleep(0.03)
                url = noted.read_text().strip()
                noted.unlink()
                assert url.startswith("file://")
                assert code not in url
                if by_hand:
                    driver.get(door)
                    driver.find_element("id", "code").send_keys(code, "\ue007")
                    until = time.monotonic() + SECONDS
                    while driver.current_url == door:
                        assert time.monotonic() < until, driver.page_source
                        time.sleep(0.03)
                page = Page(driver, driver.current_url if by_hand else url)
                assert page["file"].get_property("value") == "wings.tps"
                driver.refresh()
                page.wait("return document.documentElement.dataset.ready === 'yes'")
                assert page.complaints() == []
                driver.get(door)
                driver.find_element("id", "code").send_keys(code, "\ue007")
                assert process.wait(SECONDS) == 1
                assert "SOMEONE ELSE" in process.stdout.read()
            finally:
                process.kill()


class Evil(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>evil</title>")

    def log_message(self, *_):
        pass


SPEND = """
const [url, plan, done] = arguments;
const body = JSON.stringify({choices: plan, confirm: "release", seen: 0});
const post = more => fetch(url + "api/release", {method: "POST", body, ...more});
const tries = [fetch(url + "api/state").then(a => a.text()), post({mode: "no-cors"}).then(a => a.type),
  post({headers: {"Content-Type": "application/json"}}).then(a => a.text())];
navigator.sendBeacon(url + "api/release", body);
const form = document.createElement("form"), part = document.createElement("input");
[form.method, form.action, form.enctype, part.name] = ["post", url + "api/release", "text/plain", body.slice(0, -1) + ', "x'];
const frame = document.createElement("iframe");
[frame.name, form.target, part.value] = ["inside", "inside", '": 1}'];
document.body.append(frame, form);
form.append(part);
form.submit();
Promise.allSettled(tries).then(all => done(all.map(a => a.value || a.status)));
"""


def test_a_page_of_another_origin_can_neither_read_nor_spend(studio_folder, driver):
    """Even one that knows the secret address."""
    plan = {"files": "wings.tps", "unit": "one wing", "center": "reference.tps", "radius": 0.2, "n": 120, "epsilon": 1}
    plan |= {"ledger": "study.ledger"}
    evil = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    try:
        with beside("wings.tps", "study.ledger") as address:
            driver.get(f"http://127.0.0.1:{evil.server_port}/")
            assert driver.execute_async_script(SPEND, address, plan) == ["rejected"] * 3
            driver.get(address.replace(address.split("/")[3], "x" * 43))  # nor does a wrong token
            assert "not the address of the studio" in driver.page_source
            assert not charges()
            own = Page(driver, address)  # the same request from the page itself goes through: the test has power
            read, _, spent = driver.execute_async_script(SPEND, address, plan)
            assert "wings.tps" in read
            assert '"id"' in spent
            own.wait("return fetch('api/state').then(a => a.json()).then(s => s.releases[0].done)")
            assert len(charges()) == 1
    finally:
        evil.shutdown()
        evil.server_close()


def looks(page):
    """How often the page asked what to show."""
    own = "return performance.getEntriesByType('resource').filter(e => e.name.endsWith('api/look')).length"
    return page.driver.execute_script(own)


def test_a_change_is_one_request(studio_folder, each_driver):
    """Whether it is typed, picked or moved."""
    with beside("wings.tps", "study.ledger") as address:
        page = Page(each_driver, address)
        page.plan()
        for change in (
            lambda: page.fill("n", "250"),
            lambda: page["n-range"].send_keys("\ue014"),
            lambda: page.pick("what", "compare"),
            lambda: page.pick("what", "release"),
            lambda: page["inference"].click(),
            lambda: page.fill("out", "other.json"),
            lambda: page["confirm"].send_keys("release"),
        ):
            page.settled()
            before = looks(page)
            change()
            time.sleep(0.4)  # longer than what is typed is waited for
            page.settled()
            found = looks(page) - before
            assert found == (page["confirm"].get_property("value") == "")


def test_a_ledger_is_made_before_the_release(studio_folder, driver):
    with beside("wings.tps") as address:
        page = Page(driver, address)
        page.plan()
        page.says("spend", "No ledger is charged")
        page.fill("new-name", "study.ledger")
        page["make"].click()
        page.says("make-refusal", "exists already")
        page.fill("new-name", "mine.ledger")
        page.fill("budget", "0,5")
        page["make"].click()
        page.disabled("Too little budget: 0.5 is left")
        page.fill("epsilon", "0.4")
        page.says("spend", "In the ledger: 0.5 now, 0.1 afterwards.")
        page.release()
        page.says("home", "Released: ε = 0.4")
        assert str(sf.Ledger("mine.ledger").left) == "0.1"
        assert page.complaints() == []


def test_a_server_that_dies_is_missed_and_found_again(studio_folder, driver):
    """Said where one looks, though nothing was asked of it; and a new one leads to its door, with the form as it was."""
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan()
        port, token = int(address.split(":")[2].split("/")[0]), address.split("/")[3]
    page.says("gone", "does not answer")
    where = "const r = document.getElementById('gone').getBoundingClientRect(); return [r.bottom - innerHeight, r.left]"
    assert driver.execute_script(where) == [0, 0]  # at the lower edge of the window, wherever that is
    with beside("wings.tps", "study.ledger", token, port):
        page.wait("return document.getElementById('gone').hidden")
        page.says("spend", "ε = 1 will be spent on the mean of 120 records")
    with beside("wings.tps", "study.ledger", port=port) as other:
        page.says("gone", "The studio was started anew")
        page = Page(driver, other)
        page.says("spend", "ε = 1 will be spent on the mean of 120 records")


def test_files_are_dropped_on_the_page(studio_folder, driver, monkeypatch):
    """One of them too large."""
    with beside() as address:
        page = Page(driver, address)
        page.pick("who", "unit")
        dropped = """
        const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File([arguments[0]], "dropped.tps"));
        const drop = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
        document.getElementById("data").dispatchEvent(drop);
        """
        with monkeypatch.context() as small:
            small.setattr(server, "MOST_DROPPED", 1 << 20)
            driver.execute_script(dropped, "x" * (20 << 20))
            page.says("data-refusal", "dropped.tps: is too large to be dropped: one file may have 1 MB")
        driver.execute_script(dropped, Path("wings.tps").read_text())
        page.wait("return document.getElementById('file').value.endsWith('dropped.tps')")
        page["inspect"].click()
        page.says("seen", "120 records of 8 landmarks")


class Seen:
    """A page in one browser, width and scheme: each step is photographed, fits, and has nothing that axe complains of."""

    def __init__(self, driver, width, scheme):
        self.driver = driver
        self.name = f"{driver.caps['browserName'].split('-')[0]}-{width}-{scheme}"
        SHOTS.mkdir(exist_ok=True)

    def step(self, name, id=""):
        """Take the picture of a part of the page, and look at all of it."""
        width = "return [document.documentElement.scrollWidth, innerWidth]"
        wide, window = self.driver.execute_script(width)
        assert wide <= window, f"{name} scrolls sideways: {wide} > {window}"
        self.photograph(SHOTS / f"{name}-{self.name}.png", id)
        run = f"{AXE.read_text()}; const done = arguments[0]; axe.run(document).then(r => done(r.violations.map(v => [v.id, "
        run += "...v.nodes.slice(0, 3).map(n => `${n.target} ${n.failureSummary}`)])), e => done([String(e)]))"
        found = self.driver.execute_async_script(run) if AXE.exists() else []
        assert found == [], f"{name}, {self.name}: {found}"

    def photograph(self, file, id):
        """Write a part of the page as a picture: all of it, or, by Firefox, as much as the window shows."""
        if not id or self.driver.caps["browserName"] == "firefox":
            self.driver.execute_script(f"document.getElementById({id!r})?.scrollIntoView()")
            self.driver.save_screenshot(str(file))
            return
        where = "const r = document.getElementById(arguments[0]).getBoundingClientRect(); return [r.top, r.height, innerWidth]"
        self.driver.execute_script("scrollTo(0, 0)")
        top, height, width = self.driver.execute_script(where, id)
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        taken = {"captureBeyondViewport": True, "clip": clip}
        file.write_bytes(b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", taken)["data"]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_step_is_seen_fits_and_can_be_read_by_everybody(studio_folder, each_driver, width, scheme):
    """axe-core finds nothing to complain of; a phone shows all of it without scrolling sideways."""
    driver = each_driver
    tall = np.random.default_rng(0).normal(size=(90, 12, 3))
    np.save("weather.npy", np.einsum("nki,nkj->nij", tall, tall) / 12)
    for name, some in zip(("wings.tps", "public.tps"), demo.shared(demo.wings()[0]), strict=True):
        Path(name).write_text(demo._tps(some, [18]))
    with beside() as address, as_wide_as(driver, width), coloured(driver, scheme):
        driver.execute_script("try { sessionStorage.clear() } catch {}")
        page, seen = Page(driver, address), Seen(driver, width, scheme)
        page.settled()
        seen.step("0-empty")
        page.pick("who", "unit")
        page.fill("unit", "one month")
        page.fill("file", "weather.npy")
        page.pick("how", "center")
        page.fill("center", "identity")
        page.fill("space", "spd(size=3)")
        page.fill("radius", "1.5")
        page.fill("n", "90")
        page.says("curve-picture", "your choice")
        page.settled()
        seen.step("3-blur-matrices", "blur")
        page.fill("space", "")
        page.fill("file", "wings.tps")
        page["inspect"].click()
        page.says("seen", "100 records of 18 landmarks")
        inside = "const r = document.getElementById('seen').getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight"
        assert driver.execute_script(inside)  # what was found is scrolled into view
        page.fill("unit", "one mosquito")
        seen.step("1-data", "data")
        page.pick("how", "public")
        page.fill("public", "public.tps")
        page.fill("links", ",".join(f"{i + 1}-{j + 1}" for i, j in pairwise([*demo.EDGE, demo.EDGE[0]])))
        page.says("known-picture", "26 public specimens")
        page.settled()
        seen.step("2-known", "known")
        page.says("curve-picture", "your choice")
        page.settled()
        seen.step("3-blur", "blur")
        driver.execute_script("document.getElementById('release').scrollIntoView()")
        page.wait("return document.querySelector('[aria-current=step]').hash === '#release'")
        page["new"].click()
        page["make"].click()
        page.says("make-refusal", "exists already")
        seen.step("4-release", "release")
        page.fill("ledger", "study.ledger")
        page.release()
        page.says("home", "Released: ε = 1")
        page.settled()
        fits = """const top = document.getElementById("home-title").getBoundingClientRect().top;
        const wide = [...document.querySelectorAll("#taken svg")].map(e => e.getBoundingClientRect());
        return top >= 0 && top < innerHeight && wide.length > 1 && wide.every(r => r.left >= 0 && r.right <= innerWidth);"""
        assert driver.execute_script(fits)  # the result is in view, and its pictures are not cut
        seen.step("5-home-as-it-comes")
        for part in driver.find_elements("css selector", "details"):
            driver.execute_script("arguments[0].open = true", part)
        seen.step("5-home", "home")
        page.pick("what", "compare")  # all that can be asked is seen
        page.pick("how", "prior")
        page.settled()
        seen.step("6-everything")
        link = driver.find_element("css selector", "#taken a.button")
        report = driver.execute_script("return fetch(arguments[0]).then(a => a.text())", link.get_property("href"))
        Path("report.html").write_text(report, encoding="utf-8")
        driver.get(Path("report.html").absolute().as_uri())
        seen.step("7-report")
        assert page.complaints() == []
    if not AXE.exists():
        pytest.skip("all was walked and photographed, but axe-core could not look: make test-browser fetches it by npm")
