"""The page for people, in a real browser where there is one: by mouse, by keyboard, for a screen reader, and without a script."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import httpx
import pytest

from statveil.core.api_keys import Role
from tests.desk.conftest import faults
from tests.server.live import Served

pytestmark = pytest.mark.slow

PAGE = "/datasets/enterprises"
ASKED = f"{PAGE}?asked=true&measure=turnover&use=region:rows&level=region:part&use=size:columns&totals=true"


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


def test_without_a_script_the_form_gives_the_table(client: httpx.Client):
    page = client.get(ASKED).text
    assert "Turnover (thousand crowns) by Region and Size class" in page
    assert page.count('<th scope="row" class="depth') == 4, "the total and three parts"
    numbers = client.get("/v1/datasets/enterprises/tables?dimension=region&level=region:part&dimension=size&measure=turnover").json()
    assert f"<td>{numbers['value'][0]:,}</td>" in page


def test_every_field_has_a_label(client: httpx.Client):
    import re

    page = client.get(PAGE).text
    fields = re.findall(r'<(?:select|input) id="([^"]+)"', page)
    assert len(fields) > 8
    assert set(fields) <= set(re.findall(r'<label [^>]*for="([^"]+)"', page))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("measure=turnover", "The table has no rows."),
        ("measure=turnover&use=region:columns&use=size:columns&use=industry:rows", "Two dimensions are shown as columns."),
        ("measure=profit&use=region:rows", "has no measure &#39;profit&#39;"),
        ("measure=turnover&use=nothing", "does not begin with a dimension"),
        ("measure=turnover&use=region:rows&only=size:%3Cscript%3E", "&lt;script&gt;"),
    ],
)
def test_what_is_wrong_is_said_on_the_page(client: httpx.Client, query: str, words: str):
    answer = client.get(f"{PAGE}?asked=true&{query}")
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert words in answer.text
    assert "<script>" not in answer.text


def test_an_auditor_asks_for_no_table_on_the_page_either(server: Served):
    with server.client(Role.AUDITOR) as client:
        assert "does not have the role" in client.get(ASKED).text


def test_the_page_of_the_api_tells_every_operation_and_every_answer(client: httpx.Client):
    page, told = client.get("/docs").text, client.get("/openapi.json").json()
    for path in told["paths"]:
        assert f"<code>{path}</code>" in page
    for name in told["components"]["schemas"]:
        if "properties" in told["components"]["schemas"][name]:
            assert f'id="schema-{name}"' in page


def test_a_search_finds_codes_and_leads_to_their_tables(client: httpx.Client):
    import re

    page = client.get("/?search=food+drink").text
    assert "1 dataset has" in page
    (where,) = re.findall(r'href="([^"]+)">Industry: Food and drink service \(56\)', page)
    assert "Food and drink service</th>" in client.get(where.replace("&amp;", "&")).text
    assert "0 datasets have" in client.get("/?search=%3Cscript%3E").text


def test_the_first_page_lists_the_tables_of_the_office(client: httpx.Client):
    page = client.get("/").text
    assert page.count("Turnover by industry") == 1
    assert "Region (24 codes)" in page


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("There is no Chromium here.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as machine:
        found = machine.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=300_000)
        yield found
        found.close()


@pytest.fixture
def page(browser, server: Served):
    """A page of someone who has signed in, and everything the browser complained about."""
    context = browser.new_context(accept_downloads=True, base_url=server.url)
    made = context.new_page()
    made.complaints = []
    made.on("console", lambda message: made.complaints.append(message.text) if message.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: made.complaints.append(str(error)))
    made.on("request", lambda request: made.complaints.append(request.url) if not request.url.startswith((server.url, "data:")) else None)
    token = server.headers[Role.USER]["Authorization"].split()[1]
    made.goto("/")
    assert made.title().startswith("Sign in")
    made.fill("#key", token)
    made.press("#key", "Enter")
    made.wait_for_selector("h1")
    yield made
    context.close()


def test_a_table_and_its_chart_in_the_browser(page, server: Served):
    page.click("text=Enterprises of Meridia")
    page.wait_for_load_state("load")  # before its scripts are there, the form loads a whole page and leaves the focus to the browser
    assert page.inner_text("#result-title") == "Turnover (thousand crowns) by Region and Industry", "there is a table at once"
    page.select_option("#use-1", "region:rows")
    page.select_option("#use-2", "")
    page.select_option("#use-3", "size:columns")
    page.click("text=Show the table")
    page.locator("#result-title", has_text="Size class").wait_for()
    page.wait_for_selector(".chart svg")
    assert page.locator("#table tbody tr").count() == 4
    assert page.locator(".chart svg path").count() > 4, "bars are drawn"
    assert "4 rows" in page.inner_text("#status"), "a screen reader hears it"
    assert page.evaluate("document.activeElement.id") == "result-title", "and the focus is at the table"
    assert "use=size%3Acolumns" in page.url, "the address can be kept"
    assert page.locator("#table caption").count() == 1
    with page.expect_download() as coming:
        page.click("text=SDMX-CSV")
    with open(coming.value.path()) as file:
        assert file.readline().startswith("STRUCTURE,")
    page.click("text=Copy")
    page.locator("#status", has_text="address").wait_for()
    call = page.input_value("#call")
    told = httpx.get(call, headers=server.headers[Role.USER]).json()
    assert told["id"] == ["region", "size"]
    assert page.complaints == []


def test_the_page_by_keyboard_alone(page):
    page.goto(PAGE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "submit":
            break
    page.keyboard.press("Enter")
    page.locator("#result-title:focus").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#status", has_text="Industry is across now.").wait_for()
    for _ in range(3):  # there may be buttons for further columns
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "region":
            break
    assert page.evaluate("document.activeElement.id") == "table", "the table can be scrolled by keys"
    assert page.complaints == []


def test_an_error_is_heard_and_the_form_stays(page):
    page.goto(PAGE)
    for place in (1, 2, 3):
        page.select_option(f"#use-{place}", "")
    page.click("text=Show the table")
    page.wait_for_selector("[role=alert]")
    assert "no rows" in page.inner_text("[role=alert]")
    assert page.inner_text("#status") == "There is no table."
    assert page.complaints == []


def numbers(page) -> list[list[str]]:
    return page.evaluate(
        "[...document.querySelectorAll('#table tr')].map(r => [...r.querySelectorAll('td')].map(c => c.textContent)).filter(r => r.length)"
    )


def test_rows_and_columns_are_exchanged_without_a_request(page):
    page.goto(ASKED)
    page.wait_for_selector(".chart svg")
    before, asked = numbers(page), []
    page.on("request", lambda request: asked.append(request.url))
    page.click("#exchange")
    assert numbers(page) == [list(column) for column in zip(*before, strict=True)]
    assert page.locator("#table thead th").first.inner_text() == "Size class"
    assert asked == []
    page.reload()
    assert numbers(page) == [list(column) for column in zip(*before, strict=True)], "the address is that of what is shown"
    assert page.complaints == []


def test_any_dimension_may_be_put_across(page):
    page.goto(f"{ASKED}&use=industry:rows&level=industry:section")
    page.wait_for_selector(".chart svg")
    page.select_option("#across", "region")
    assert page.locator("#table thead th").first.inner_text() == "Size class · Industry"
    shown, address = numbers(page), page.url
    page.goto(address)
    assert numbers(page) == shown, "as the server would show it"


def test_a_table_is_kept_in_the_browser_and_forgotten(page):
    page.goto(ASKED)
    page.click("#exchange")
    page.fill("#keep-name", "Mine <b>")
    page.click("#keep button")
    page.goto(PAGE)
    page.click("text=Mine <b>")
    page.wait_for_load_state("load")
    assert page.locator("#table thead th").first.inner_text() == "Size class"
    page.click("[aria-label='Forget Mine <b>']")
    assert page.locator(".saved .own").count() == 0
    assert page.locator(".saved a").count() == 2, "the office's stay"
    assert page.complaints == []


INSIDE = """() => { const right = e => e.getBoundingClientRect().right; const frame = document.querySelector('#table');
  const cells = [...frame.querySelectorAll('th, td')].filter(e => e.offsetParent && e.tagName);
  const svg = document.querySelector('.chart svg');
  return { page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    table: Math.max(...cells.map(e => right(e) - right(frame))),
    chart: Math.max(...[...svg.querySelectorAll('text')].map(e => right(e) - right(svg))),
    labels: [...svg.querySelectorAll('.role-axis-label')].map(g => [...g.querySelectorAll('text')].map(t => t.getBoundingClientRect())
      .filter(r => r.width).map(r => [r.left, r.top, r.right, r.bottom])) }; }"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("level", ["part", "district"])
def test_no_column_is_cut_off_and_no_label_lies_on_another(page, width: int, level: str):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(
        f"{PAGE}?asked=true&measure=turnover&use=industry:rows&level=industry:division&use=region:columns&level=region:{level}&totals=true"
    )
    page.wait_for_selector(".chart svg")
    found = page.evaluate(INSIDE)
    assert found["page"] <= 0
    assert found["table"] <= 1
    assert found["chart"] <= 1
    for labels in found["labels"]:
        for place, one in enumerate(labels):
            for other in labels[place + 1 :]:
                apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] + 1 or other[3] <= one[1] + 1
                assert apart, (one, other)
    hidden = page.locator("#table thead th[hidden]").count()
    assert (hidden > 0) == (page.locator(".pager").is_visible())
    if hidden:
        while page.locator("#columns-after").is_enabled():
            page.click("#columns-after")
            assert page.evaluate(INSIDE)["table"] <= 1
        assert page.locator("#table thead th.number").last.is_visible(), "every column can be reached"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_core_finds_nothing_on_any_page_for_readers(page, width: int, colours: str):
    page.set_viewport_size({"width": width, "height": 860})
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    addresses = (
        "/",
        "/?search=food",
        "/?search=nothing-of-the-kind",
        PAGE,
        ASKED,
        f"{PAGE}?asked=true&measure=turnover",
        "/docs",
        "/datasets/none",
    )
    found = {address: (page.goto(address), faults(page))[1] for address in addresses}
    page.goto(ASKED)
    page.wait_for_selector(".chart svg")
    found["a table with its chart"] = faults(page)
    page.context.clear_cookies()
    page.goto("/login")
    found["/login"] = faults(page)
    assert {address: words for address, words in found.items() if words} == {}


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The ratio of WCAG 2."""

    def light(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour[:3]]
        return sum(
            share * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
            for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
        )

    brighter, darker = sorted((light(one), light(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


COLOURS = """() => [...document.querySelectorAll('h1,h2,h3,p,a,label,legend,th,td,button,summary,li,caption')].filter(e => e.offsetParent)
  .map(e => { let b = e, c; do { c = getComputedStyle(b).backgroundColor; b = b.parentElement; } while (b && c.endsWith(', 0)'));
    return [e.tagName, getComputedStyle(e).color, c.endsWith(', 0)') ? 'rgb(255, 255, 255)' : c]; })"""


def test_text_stands_out_from_its_background(page):
    import re

    for address, light in ((address, light) for address in (ASKED, "/?search=food", "/docs", "/login") for light in ("light", "dark")):
        page.emulate_media(color_scheme=light)
        page.goto(address)
        for tag, text, ground in page.evaluate(COLOURS):
            pair = [tuple(int(number) for number in re.findall(r"\d+", word)[:3]) for word in (text, ground)]
            assert contrast(*pair) >= 4.5, (address, light, tag, text, ground)
