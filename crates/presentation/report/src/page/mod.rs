//! The HTML page of recordings.

mod about;
mod causes;
mod figure;
mod findings;
mod first_screen;

pub(crate) use about::{caveat_lines, where_it_was};
use howlate_render::ComparisonReport;
use maud::{Markup, html};

use crate::document::document;
use crate::entry::{Entry, not_shown, shown};
use crate::explanations::{loop_tables, meaning_lines};
use crate::fleet::FleetNodes;
use crate::pictures::{Chart, Picture, PictureSource, important_ridges, is_among_the_pictures, picture};
use crate::{
    NamedRecording, ReportInput, answer, code_to_copy, comparison, condition_names, deadline, prose,
    sleep_errors, tables,
};

const STYLE: &str = concat!(
    include_str!("../chart/colours.css"),
    include_str!("style.css"),
    include_str!("../chart/chart.css")
);
const SCRIPT: &str = include_str!("script.js");

/// A self-contained HTML page.
pub fn page(subject: &ReportInput<'_>) -> String {
    let all = Entry::all(subject.recordings);
    let entries = shown(&all);
    let fleets = FleetNodes::all(subject.recordings);
    let source = PictureSource { entries: &entries, comparison: subject.comparison, fleets: &fleets };
    let whole = PictureSource { entries: &all, ..source };
    let among = |kind: &Chart| is_among_the_pictures(*kind, &entries);
    let pictures: Vec<Picture> =
        Chart::ALL.into_iter().filter(among).filter_map(|kind| picture(kind, source)).collect();
    let title = format!("{} · howlate", answer::heading(&entries));
    let main = html! {
        (first_screen::first_screen(whole, subject.recordings)) (content(source, &all, subject.recordings, &pictures))
    };
    document(&title, (STYLE, SCRIPT), &main)
}

fn content(
    source: PictureSource<'_>,
    all: &[Entry<'_>],
    recordings: &[NamedRecording<'_>],
    pictures: &[Picture],
) -> Markup {
    let entries = source.entries;
    html! {
        (contents(source, recordings, pictures))
        (nodes(source))
        section id="results" {
            h2 { "Results" }
            p class="quiet" { (prose::plain(&condition_names::common(entries))) }
            @if let Some(missed) = deadline::sentence(entries) { p { (prose::html(&missed)) } }
            @if let Some(sentence) = not_shown(all) { p class="quiet" { (prose::html(&sentence)) } }
            (ridges(source))
            (tables::results(entries).html())
            @if let Some(table) = sleep_errors::errors(entries) { (table.html()) }
            @for table in loop_tables(entries) { (table.html()) }
        }
        (compared(source))
        (meanings(recordings))
        (causes::causes(source))
        (causes::timelines(recordings))
        section id="pictures" {
            h2 { "Pictures" }
            @for picture in pictures { (figure::figure(picture)) }
        }
        (about::sections(recordings, entries))
    }
}

/// The density picture; with many conditions the important ones, and all of them collapsed.
fn ridges(source: PictureSource<'_>) -> Markup {
    let Some(whole) = picture(Chart::Density, source) else { return html! {} };
    html! {
        @match important_ridges(source) {
            None => (figure::figure(&whole)),
            Some(few) => {
                (figure::figure(&few))
                details {
                    summary { "All conditions" }
                    (figure::figure_named(&whole, "density-all"))
                }
            }
        }
    }
}

/// The nodes of a fleet; empty for a single machine.
fn nodes(source: PictureSource<'_>) -> Markup {
    let Some(picture) = picture(Chart::Nodes, source) else { return html! {} };
    // With two nodes the title says all there is.
    let is_new = |line: &String| !picture.title.contains(line.trim_end_matches('.'));
    html! {
        section id="fleet" {
            h2 { "Nodes" }
            @for fleet in source.fleets {
                @if source.fleets.len() > 1 { h3 { (fleet.recording.name) } }
                ul { @for line in fleet.sentences().into_iter().filter(is_new) { li { (prose::html(&line)) } } }
            }
            (figure::figure(&picture))
        }
    }
}

/// The comparison; empty where there is none.
fn compared(source: PictureSource<'_>) -> Markup {
    let Some(messages) = source.comparison.as_ref().map(ComparisonReport::messages) else { return html! {} };
    html! {
        section id="compare" {
            h2 { "What differs" }
            @if let Some(picture) = picture(Chart::Forest, source) { (figure::figure(&picture)) }
            @if !messages.notes.is_empty() {
                ul class="caveats" { @for note in &messages.notes { li { (prose::html(note)) } } }
            }
            details {
                summary { "Everything that was tested" }
                (comparison::table(&messages).html())
            }
        }
    }
}

/// Links to the sections.
fn contents(source: PictureSource<'_>, recordings: &[NamedRecording<'_>], pictures: &[Picture]) -> Markup {
    let is_traced = source.entries.iter().any(|entry| entry.outcome.traces.is_some());
    html! {
        nav aria-label="Contents" {
            ul {
                @if !source.fleets.is_empty() { li { a href="#fleet" { "nodes" } } }
                li { a href="#results" { "results" } }
                @if source.comparison.is_some() { li { a href="#compare" { "what differs" } } }
                @if is_traced { li { a href="#why" { "why" } } }
                @for picture in pictures { li { a href={ "#" (picture.kind) } { (picture.kind) } } }
                li { a href="#caveats" { "caveats" } }
                li { a href="#machine" { "machine" } }
                @if about::can_be_repeated(recordings) { li { a href="#repeat" { "repeat" } } }
            }
        }
    }
}

fn meanings(recordings: &[NamedRecording<'_>]) -> Markup {
    let lines = meaning_lines(recordings);
    html! {
        @if !lines.is_empty() {
            section id="meaning" {
                h2 { "What this means" }
                ul { @for line in &lines { li { (prose::html(line)) } } }
                (code_to_copy::html(recordings))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis, cyclic, turn};

    #[test]
    fn a_page_of_many_conditions_stays_small() {
        const POLICIES: [&str; 5] = ["other", "batch", "nice:5", "fifo:80", "rr:50"];
        let conditions = POLICIES.iter().flat_map(|policy| (0..20).map(|cpu| cyclic(policy, cpu)));
        let mut analysis = analysis(conditions.collect());
        for (condition, round) in (0..100).flat_map(|condition| (0..40).map(move |round| (condition, round)))
        {
            turn(&mut analysis, condition, round, 10_000 + i64::from(condition * round) * 777);
        }
        let recordings = [NamedRecording::new("run.jsonl", &analysis)];
        let page = page(&ReportInput { recordings: &recordings, comparison: None });
        assert!(page.contains("<svg") && page.len() < 3_000_000, "{}", page.len());
        // The important ridges come first; all are there on request.
        let ridges = |id: &str| {
            let figure = page.split(&format!("<figure id=\"{id}\">")).nth(1).unwrap();
            let drawing = figure.split("</svg>").next().unwrap();
            drawing.matches("class=\"ridge ").count()
        };
        assert_eq!((ridges("density"), ridges("density-all")), (12, 32));
    }
}
