//! Top of the page: headline number, small picture, answer, doubts.

use howlate_render::{ComparisonReport, doubtful};
use maud::{Markup, html};

use super::about;
use crate::chart::Room;
use crate::entry::Entry;
use crate::pictures::{PictureSource, glance};
use crate::{NamedRecording, answer, prose};

/// Doubts shown here; all are listed below.
const DOUBTS: usize = 2;

pub(super) fn first_screen(source: PictureSource<'_>, recordings: &[NamedRecording<'_>]) -> Markup {
    let entries = source.entries;
    html! {
        header {
            h1 { (answer::title(entries)) }
            @if let Some(number) = answer::number(entries) {
                p class="number-one" { strong { (number.value) } " " span class="quiet" { (number.about) } }
                (chart(&number.entries, &number.about))
            }
            p class="answer" { (prose::html(&answer::answer(entries, source.comparison.as_ref()))) }
            @if let Some(messages) = source.comparison.as_ref().map(ComparisonReport::messages) {
                p class="answer" { (prose::html(&messages.answer)) }
            }
            (doubts(recordings))
            (about::line(recordings))
            (how_to_read())
        }
    }
}

fn chart(entries: &[Entry<'_>], about: &str) -> Markup {
    let drawing = glance(entries);
    html! {
        div class="panels glance" { div class="panel" {
            (drawing.svg(Room::Wide, about))
            (drawing.svg(Room::Narrow, about))
        } }
    }
}

/// Reasons to doubt the numbers, each once.
fn doubts(recordings: &[NamedRecording<'_>]) -> Markup {
    let mut lines: Vec<String> = Vec::new();
    for line in recordings.iter().flat_map(|recording| doubtful(recording.analysis)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let more = lines.len().saturating_sub(DOUBTS);
    html! {
        @if !lines.is_empty() {
            ul class="caveats doubts" {
                @for line in lines.iter().take(DOUBTS) { li { (prose::html(line)) } }
                @if more > 0 { li { a href="#caveats" { (more) " more below" } } }
            }
        }
    }
}

fn how_to_read() -> Markup {
    html! {
        details class="how" {
            summary { "How to read this page" }
            p {
                "A thread asks the kernel to wake it at a certain time. How much later it runs is its latency. The "
                strong { "median" } " is the usual latency: half of the wake-ups were at most this late. "
                strong { "p99" } " is a rare one: 99 of 100 were at most this late, one was later. The "
                strong { "maximum" } " is the worst that was seen; a longer run may see a worse one."
            }
            p {
                "A condition is one way to run: a scheduling policy (normal, which is " code { "other" } ", or real-time, such as "
                code { "fifo:80" } "), a background load, a CPU. Conditions took turns in random order, so that other activity of the machine affected all of them alike."
            }
            p {
                "Most axes are logarithmic: each step from 10 µs to 100 µs to 1 ms is ten times as much. In the small picture above, the thin line goes \
                 from the smallest to the largest latency, the circle is the median and the diamond is p99."
            }
        }
    }
}
