//! Reports in a real browser: every kind of page, narrow and wide, light and dark, with and without its script.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod axe;
mod driver;
mod pictures;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::{howlate, skip, stderr};
use driver::{Browser, BrowserView, address};

const PAGES: [&[&str]; 9] = [
    &["cyclic"],
    &["guest"],
    &["killed"],
    &["languages"],
    &["notify"],
    &["policies"],
    &["idle-before", "idle-after"],
    &["stall"],
    &["cyclic", "stall", "sleep"],
];

fn views() -> impl Iterator<Item = BrowserView> {
    let widths = [390, 1440].into_iter();
    let themes = widths.flat_map(|width| ["light", "dark"].map(|theme| (width, theme)));
    themes.flat_map(|(width, theme)| [true, false].map(|script| BrowserView { width, theme, script }))
}

/// A report of these recordings, in a folder of the test below the build folder.
fn report(names: &[&str]) -> PathBuf {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(test);
    std::fs::create_dir_all(&folder).unwrap();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1");
    let path = folder.join(format!("{}.html", names.join("-")));
    drop(std::fs::remove_file(&path));
    let files = names.iter().map(|name| format!("{name}.jsonl"));
    let mut command = howlate(&["report", "-o"]);
    let output = command.arg(&path).args(files).current_dir(recordings).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    path
}

/// A browser, or the reason why there is none.
fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        skip("chromedriver is not installed");
    }
    browser
}

#[test]
fn pages_open_without_an_error_a_request_or_a_sideways_scroll() {
    let Some(browser) = browser() else { return };
    for names in PAGES {
        let path = report(names);
        for view in views() {
            browser.open(&path, view);
            let about = format!("{names:?} {view:?}");
            assert_eq!(browser.console(), Vec::<serde_json::Value>::new(), "{about}");
            let requests = browser.requests();
            let foreign_requests =
                requests.iter().filter(|request| **request != address(&path) && *request != "data:,");
            assert_eq!(foreign_requests.collect::<Vec<_>>(), Vec::<&String>::new(), "{about}");
            assert!(requests.contains(&address(&path)), "{about}: the log holds requests");
            let width = browser.evaluate("document.documentElement.scrollWidth");
            assert_eq!(width, view.width, "{about}");
            keep(&browser, &path, view);
        }
    }
}

/// Saves pictures for manual inspection.
fn keep(browser: &Browser, page: &Path, view: BrowserView) {
    if view.script {
        let png = BASE64.decode(browser.picture()).unwrap();
        std::fs::write(page.with_extension(format!("{}-{}.png", view.width, view.theme)), png).unwrap();
    }
}

#[test]
fn no_line_begins_with_a_separator_or_a_unit() {
    let Some(browser) = browser() else { return };
    // Places where a `·` or a unit begins a new line.
    let broken = "(() => { for (const element of document.querySelectorAll('details')) element.open = true; \
         const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = []; \
         const top = (node, at) => { const range = document.createRange(); range.setStart(node, at); \
             range.setEnd(node, at + 1); const box = range.getBoundingClientRect(); return box.width ? box.top : NaN; }; \
         for (let node; (node = walk.nextNode());) { \
             const text = node.data, within = node.parentElement; \
             if (within.closest('svg, pre, code')) continue; \
             for (const match of text.matchAll(/(?<=\\S\\s)·|(?<=\\d\\s)(ns|µs|ms|s|%)(?!\\w)/g)) { \
                 if (top(node, match.index) > top(node, match.index - 2) + 6) \
                     found.push(text.slice(Math.max(0, match.index - 30), match.index + 9)); } } \
         return found; })()";
    for names in [&["notify"][..], &["cyclic"], &["policies"], &["guest"], &["why"]] {
        let path = report(names);
        for width in [320, 360, 400, 480] {
            browser.open(&path, BrowserView { width, theme: "light", script: true });
            assert_eq!(browser.evaluate(broken), serde_json::json!([]), "{names:?} {width}");
        }
    }
}

#[test]
fn on_paper_commands_are_whole() {
    let Some(browser) = browser() else { return };
    browser.open(&report(&["why"]), BrowserView { width: 600, theme: "light", script: true });
    browser.print();
    let hidden = browser.evaluate(
        "[...document.querySelectorAll('pre')].filter(element => element.scrollWidth > element.clientWidth).map(element => element.textContent)",
    );
    assert_eq!(hidden, serde_json::json!([]));
}

#[test]
fn on_paper_nothing_is_hidden_behind_what_follows() {
    let Some(browser) = browser() else { return };
    browser.open(&report(&["cyclic"]), BrowserView { width: 800, theme: "light", script: true });
    browser.print();
    // More rows than fit a screen.
    let hidden = browser.evaluate(
        "(() => { const scroll = document.querySelector('#results > .scroll'), rows = scroll.querySelector('tbody'); \
         scroll.classList.add('long'); \
         for (let number = 0; number < 60; number++) rows.append(rows.rows[0].cloneNode(true)); \
         return [rows.rows.length > 60, scroll.scrollHeight - scroll.clientHeight]; })()",
    );
    assert_eq!(hidden, serde_json::json!([true, 0]));
}

#[test]
fn what_a_page_says_does_not_depend_on_its_script() {
    let Some(browser) = browser() else { return };
    let path = report(&["cyclic", "stall", "sleep"]);
    // The number of visible elements of each kind, and all texts.
    let seen = "(() => { const seen = [...document.querySelectorAll('main *')].filter(element => element.checkVisibility()); \
         const count = name => seen.filter(element => element.matches(name)).length; \
         return [document.querySelector('main').innerText.replaceAll(/\\s+/g, ' '), \
                 count('svg.chart'), count('td'), count('.legend li'), count('.data a')]; })()";
    for width in [390, 1440] {
        let [with, without] = [true, false].map(|script| {
            browser.open(&path, BrowserView { width, theme: "light", script });
            browser.evaluate(seen)
        });
        assert_eq!(with, without);
        assert!(with[1].as_u64() > Some(5), "{with}");
    }
}

#[test]
fn values_are_shown_and_series_are_hidden() {
    let Some(browser) = browser() else { return };
    browser.open(&report(&["cyclic"]), BrowserView { width: 1440, theme: "light", script: true });
    for figure in ["percentiles", "time"] {
        let tip = browser.evaluate(&format!(
            "(() => {{ const panel = document.querySelector('#{figure} .panel'); \
             const chart = [...panel.querySelectorAll('svg.chart')].find(element => element.checkVisibility()); \
             const box = chart.getBoundingClientRect(); \
             const at = {{clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}}; \
             chart.dispatchEvent(new PointerEvent('pointermove', at)); \
             const tip = panel.querySelector('.tip'); \
             return tip.checkVisibility() ? tip.textContent : ''; }})()"
        ));
        let tip = tip.as_str().unwrap();
        assert!(tip.contains("µs") || tip.contains("ms"), "{figure}: {tip:?}");
    }
    let hidden = browser.evaluate(
        "(() => { const panel = document.querySelector('#percentiles .panel'); \
         const mark = panel.querySelector('.chart .s0'); \
         const before = mark.checkVisibility(); \
         panel.querySelector('.legend button').click(); \
         return [before, mark.checkVisibility(), panel.querySelector('.legend button').ariaPressed]; })()",
    );
    assert_eq!(hidden, serde_json::json!([true, false, "false"]));
}

#[test]
fn hovering_tells_one_thing_and_covers_nothing() {
    let Some(browser) = browser() else { return };
    browser.open(&report(&["policies"]), BrowserView { width: 1440, theme: "light", script: true });
    // Position of a panel's tooltip, its text at a point of the chart, and its text with only one series left.
    let tooltips = browser.evaluate(
        "(() => { const said = [], panel = document.querySelector('#percentiles .panel'); \
         const chart = [...panel.querySelectorAll('svg.chart')].find(element => element.checkVisibility()); \
         const tip = panel.querySelector('.tip'), box = chart.getBoundingClientRect(); \
         const at = y => chart.dispatchEvent(new PointerEvent('pointermove', \
             {clientX: box.left + box.width / 2, clientY: box.top + y * box.height, bubbles: true})); \
         at(0.1); said.push(tip.textContent); at(0.9); said.push(tip.textContent); \
         said.push(tip.getBoundingClientRect().bottom <= box.top); \
         panel.querySelector('.legend button').click(); at(0.1); said.push(tip.textContent); at(0.9); said.push(tip.textContent); \
         chart.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'})); said.push(tip.textContent); \
         return said; })()",
    );
    let text = |place: usize| tooltips[place].as_str().unwrap();
    assert!(
        text(0).starts_with("other: 9") && text(1).starts_with("fifo:80: 9"),
        "the nearest series: {tooltips}"
    );
    assert!(text(0).contains(" % within ") && !text(0).contains('\n'), "{tooltips}");
    assert_eq!(tooltips[2], true, "the line stands above the picture: {tooltips}");
    assert!(
        text(3).starts_with("fifo:80: 9") && text(4).starts_with("fifo:80: 9"),
        "what is hidden is not told: {tooltips}"
    );
    assert_eq!(text(5), "");
    let rows = browser.evaluate(
        "(() => { const panel = document.querySelector('#density .panel'); \
         const chart = [...panel.querySelectorAll('svg.chart')].find(element => element.checkVisibility()); \
         const said = []; \
         chart.querySelector('.row .hit').dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); \
         said.push(panel.querySelector('.tip').textContent); \
         chart.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})); \
         said.push(panel.querySelector('.tip').textContent); \
         return said; })()",
    );
    assert!(rows[0].as_str().unwrap().starts_with("fifo:80: half within "), "{rows}");
    assert!(rows[1].as_str().unwrap().starts_with("other: half within "), "{rows}");
}

#[test]
fn tables_are_sorted_by_numbers_and_keep_their_names_in_sight() {
    let Some(browser) = browser() else { return };
    browser.open(&report(&["cyclic"]), BrowserView { width: 390, theme: "light", script: true });
    let sorted = browser.evaluate(
        "(() => { const tables = [...document.querySelectorAll('#results > .scroll > table')], results = tables[0]; \
         const heads = [...results.tHead.rows[0].cells], place = heads.findIndex(element => element.textContent === 'p99'); \
         const values = () => [...results.tBodies[0].rows].map(row => row.cells[place].textContent); \
         const button = heads[place].querySelector('button'); \
         button.click(); const up = values(), sort = heads[place].ariaSort; button.click(); \
         const scroll = results.parentElement; \
         scroll.scrollLeft = 200; \
         const first = results.tBodies[0].rows[0].cells[0].getBoundingClientRect().left; \
         return [up, sort, values(), heads[place].ariaSort, scroll.scrollLeft > 100, first >= 0, \
                 heads.findIndex(element => element.textContent === 'min') > place]; })()",
    );
    let expected = serde_json::json!(["60.2", "76.8", "137", "934"]);
    let reversed: Vec<_> = expected.as_array().unwrap().iter().rev().cloned().collect();
    assert_eq!(sorted, serde_json::json!([expected, "ascending", reversed, "descending", true, true, true]));
}

/// The page without scripts, of which axe-core is one.
fn without_script(path: &Path) -> PathBuf {
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let path = path.with_extension("without-script.html");
    std::fs::write(&path, format!("{before}{after}")).unwrap();
    path
}

/// Violations found by axe-core: all rules of WCAG 2.2 A and AA, and the best practices.
fn violations(browser: &Browser, axe: &str) -> Vec<String> {
    browser.evaluate(&format!("{axe}; 0"));
    let found = browser.evaluate(
        "axe.run().then(result => [result.passes.length, ...result.violations.map(violation => violation.id + ': ' + \
         violation.nodes.slice(0, 3).map(node => node.html.slice(0, 120) + ' ' + node.failureSummary).join(' | '))])",
    );
    let found = found.as_array().unwrap();
    assert!(found[0].as_u64() > Some(10), "axe looked at the page");
    found[1..].iter().map(|violation| violation.as_str().unwrap().to_owned()).collect()
}

#[test]
fn everyone_can_read_a_page() {
    let Some(browser) = browser() else { return };
    let axe = match axe::script() {
        Ok(axe) => axe,
        Err(reason) => return skip(&reason),
    };
    for (number, names) in PAGES.into_iter().enumerate() {
        let with = report(names);
        let without = without_script(&with);
        // Every page in two views, the last page in all of them.
        let all = number + 1 == PAGES.len();
        for view in views().filter(|view| all || (view.width == 390) == (view.theme == "dark")) {
            browser.open(if view.script { &with } else { &without }, BrowserView { script: true, ..view });
            assert_eq!(violations(&browser, &axe), Vec::<String>::new(), "{names:?} {view:?}");
        }
    }
}
