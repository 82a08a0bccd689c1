//! The page.

mod about;
mod causes;
mod figure;
mod findings;
mod policy;

pub(crate) use about::{caveat_lines, command};
use howlate_render::{legible_lines, meaning};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::entry::Entry;
use crate::pictures::{Chart, Picture, picture};
use crate::{Recording, answer, errors, names, prose, tables};

const STYLE: &str = concat!(
    include_str!("../chart/colours.css"),
    include_str!("style.css"),
    include_str!("../chart/chart.css")
);
const SCRIPT: &str = include_str!("script.js");

/// One page on all of `recordings`, which holds everything it needs.
pub fn page(recordings: &[Recording<'_>]) -> String {
    let entries = Entry::all(recordings);
    let pictures: Vec<Picture> = Chart::ALL.into_iter().filter_map(|kind| picture(kind, &entries)).collect();
    let title = format!("{} · howlate", answer::heading(&entries));
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy(STYLE, SCRIPT));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="howlate";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (content(recordings, &entries, &pictures)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    legible_lines(&document.into_string()).into_owned()
}

fn content(recordings: &[Recording<'_>], entries: &[Entry<'_>], pictures: &[Picture]) -> Markup {
    html! {
        header {
            h1 { (answer::heading(entries)) }
            p class="answer" { (prose::html(&answer::answer(entries))) }
            (about::line(recordings))
        }
        (contents(entries, pictures))
        section id="results" {
            h2 { "Results" }
            p class="quiet" { (names::common(entries)) }
            (tables::results(entries).html())
            @if let Some(table) = errors::errors(entries) { (table.html()) }
        }
        (meanings(recordings))
        (causes::causes(entries))
        section id="pictures" {
            h2 { "Pictures" }
            @for picture in pictures { (figure::figure(picture)) }
        }
        (about::sections(recordings, entries))
    }
}

/// Links to what is on the page.
fn contents(entries: &[Entry<'_>], pictures: &[Picture]) -> Markup {
    let is_traced = entries.iter().any(|entry| entry.outcome.traces.is_some());
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#results" { "results" } }
                @if is_traced { li { a href="#why" { "why" } } }
                @for picture in pictures { li { a href={ "#" (picture.kind) } { (picture.kind) } } }
                li { a href="#caveats" { "caveats" } }
                li { a href="#machine" { "machine" } }
                li { a href="#repeat" { "repeat" } }
            }
        }
    }
}

fn meanings(recordings: &[Recording<'_>]) -> Markup {
    let several = recordings.len() > 1;
    let of = |recording: &Recording<'_>| -> Vec<String> {
        let name = if several { format!("{}: ", recording.name) } else { String::new() };
        meaning(recording.analysis).into_iter().map(|line| format!("{name}{line}")).collect()
    };
    let lines: Vec<String> = recordings.iter().flat_map(of).collect();
    html! {
        @if !lines.is_empty() {
            section id="meaning" {
                h2 { "What this means" }
                ul { @for line in &lines { li { (prose::html(line)) } } }
            }
        }
    }
}
