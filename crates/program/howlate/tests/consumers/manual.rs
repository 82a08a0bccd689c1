//! Manual pages by `mandoc`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{commands, howlate, skip, stdout};

/// Output of `mandoc -T lint`; `None` where it is not installed.
fn lint(page: &str) -> Option<String> {
    let mandoc =
        Command::new("mandoc").args(["-T", "lint"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut mandoc) = mandoc else {
        skip("mandoc is not installed");
        return None;
    };
    mandoc.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    Some(stdout(&mandoc.wait_with_output().unwrap()))
}

fn page(arguments: &[&str], epoch: &str) -> String {
    let output = howlate(arguments).env("SOURCE_DATE_EPOCH", epoch).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    stdout(&output)
}

#[test]
fn mandoc_has_nothing_to_say() {
    let main = page(&["man"], "1700000000");
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    let pages = commands.iter().map(|name| page(&["man", name.as_str()], "1700000000"));
    for page in std::iter::once(main).chain(pages) {
        let Some(message) = lint(&page) else { return };
        assert_eq!(message, "", "{page}");
    }
}

#[test]
fn the_date_is_that_of_the_source() {
    assert!(page(&["man"], "1700000000").contains("\n.TH HOWLATE 1 2023-11-14 "));
    let today = howlate(&["man", "show"]).env_remove("SOURCE_DATE_EPOCH").output().unwrap();
    assert!(regex::Regex::new(r"\.TH HOWLATE-SHOW 1 \d{4}-\d\d-\d\d ").unwrap().is_match(&stdout(&today)));
}

#[test]
fn cyclictests_page_lists_its_options() {
    let page = page(&["man", "cyclictest"], "0");
    for option in [
        "\\-\\-histofall",
        "\\-\\-deepest\\-idle\\-state",
        "\\-\\-compat",
        "\\-\\-howlate\\-out",
        "HOWLATE_COMPAT",
    ] {
        assert!(page.contains(option), "{option}: {page}");
    }
}
