//! What is seen first: how many there were, the longest, and what makes it doubtful.

use howlate_analyse::incidents::{Culprit, culprits};
use howlate_model::{Incident, Latency};
use howlate_render::numbers::count;
use howlate_render::{Incidents, culprit_name, held_up_by, late_above, machine, victim, was_late};
use maud::{Markup, html};

use crate::prose;

pub(super) fn first_screen(kept: &Incidents) -> Markup {
    html! {
        header {
            h1 { "Threads that ran late" }
            p class="number-one" { strong { (kept.counted()) } " " span class="quiet" { (prose::plain(&about(kept))) } }
            p class="answer" { (prose::plain(&answer(kept))) }
            (doubts(kept))
            @if let Some((node, system)) = &kept.machine {
                p class="quiet" {
                    @if let Some(name) = &node.name { (name) " · " }
                    (machine(system))
                }
            }
            (how_to_read(kept))
        }
    }
}

/// Which waits are incidents, and of which time.
fn about(kept: &Incidents) -> String {
    let above =
        kept.late_above.map_or_else(String::new, |above| format!("waits of more than {}", late_above(above)));
    let from = kept.from.or(kept.oldest).map(|at| format!("since {}", kept.local(at)));
    let last = kept.written.last.filter(|_| kept.from.is_none() && !kept.written.is_recording);
    let until = kept.until.or(last).map(|at| format!("until {}", kept.local(at)));
    let parts = [Some(above).filter(|above| !above.is_empty()), from, until];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn answer(kept: &Incidents) -> String {
    let Some(longest) = kept.kept.incidents.iter().max_by_key(|one| one.latency) else {
        return kept.nothing().to_owned();
    };
    let all = culprits(kept.kept.incidents.iter());
    let most = all.iter().find(|one| one.kind.is_named()).map_or_else(String::new, most);
    format!("{}{most}", the_longest(kept, longest))
}

fn the_longest(kept: &Incidents, one: &Incident) -> String {
    let (late, at) = (Latency::from_span(one.latency), kept.time(one, "%m-%d %H:%M:%S"));
    let (victim, verb, by) = (victim(one), was_late(one.kind), held_up_by(one));
    format!("The longest: {victim} {verb} {late} at {at}, held up by {by}.")
}

fn most(one: &Culprit) -> String {
    let incidents = if one.incidents == 1 {
        "1 incident".to_owned()
    } else {
        format!("{} incidents", count(one.incidents))
    };
    let own = Latency::from_span(one.own);
    format!(" Most of the time in all: {}, in {incidents}, {own} of its own time.", culprit_name(one))
}

fn doubts(kept: &Incidents) -> Markup {
    let lines = kept.doubts();
    html! {
        @if !lines.is_empty() {
            ul class="caveats doubts" { @for line in &lines { li { (prose::html(line)) } } }
        }
    }
}

fn how_to_read(kept: &Incidents) -> Markup {
    let above = kept.late_above.map_or_else(|| "the limit".to_owned(), late_above);
    html! {
        details class="how" {
            summary { "How to read this page" }
            p {
                "A thread that is ready to run has to wait while its CPU does something else. Each wait of more than " (above)
                " is an incident: it was recorded with whoever had the CPU meanwhile. All shorter waits are counted, not recorded one by one."
            }
            p {
                "A thread that sleeps, or waits for a lock, a disk or another process, is not late in this sense."
            }
        }
    }
}
