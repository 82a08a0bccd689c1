//! Which conditions are drawn together, and in which colour.

use std::cmp::Reverse;

use howlate_model::{Latency, Property};

use crate::chart::{HUES, Hue, Marks, Named};
use crate::condition_names::{Facet, Part, facets, facets_at_most, name, varying};
use crate::entry::Entry;

/// A condition within a panel.
pub(crate) struct Series<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) hue: Hue,
    pub(crate) name: String,
}

/// Panels in one picture; more are not looked at.
const PANELS: usize = 6;

/// Groups of conditions that can be drawn over one another. Where so many groups would be needed that some were not drawn,
/// there are fewer, in which not every condition has a colour.
pub(crate) fn panels<'a>(entries: &[Entry<'a>]) -> Vec<Facet<'a>> {
    let all = facets(entries, HUES);
    if all.len() > PANELS { facets_at_most(entries, PANELS) } else { all }
}

/// A group for each condition, in which its CPUs are drawn over one another, and how many conditions are left out.
pub(crate) fn per_condition<'a>(entries: &[Entry<'a>]) -> (Vec<Facet<'a>>, usize) {
    let is_said = |part: &Part| !matches!(part, Part::Of(Property::Cpu | Property::Thread));
    let parts: Vec<Part> = varying(entries).into_iter().filter(is_said).collect();
    let mut all: Vec<Facet<'a>> = Vec::new();
    for entry in entries {
        let heading = if parts.is_empty() { String::new() } else { name(entry, &parts) };
        match all.iter_mut().find(|facet| facet.heading == heading) {
            Some(facet) => facet.entries.push(*entry),
            None => all.push(Facet { heading, entries: vec![*entry] }),
        }
    }
    let left_out = all.iter().skip(PANELS).map(|facet| facet.entries.len()).sum();
    all.truncate(PANELS);
    (all, left_out)
}

/// The conditions of a panel, each with its colour. Where there are too many for that, those with
/// the largest latencies have one; the others come first, to be drawn behind.
pub(crate) fn series<'a>(entries: &[Entry<'a>]) -> Vec<Series<'a>> {
    let parts = varying(entries);
    let mut by_max: Vec<usize> = (0..entries.len()).collect();
    by_max.sort_by_key(|place| Reverse(entries[*place].max()));
    by_max.truncate(HUES);
    by_max.sort_unstable();
    let hue = |place: usize| by_max.iter().position(|one| *one == place).map_or(Hue::Rest, Hue::nth);
    let one = |(place, entry): (usize, &Entry<'a>)| Series {
        entry: *entry,
        hue: hue(place),
        name: name(entry, &parts),
    };
    let mut all: Vec<Series<'a>> = entries.iter().enumerate().map(one).collect();
    all.sort_by_key(|series| series.hue != Hue::Rest);
    all
}

/// The legend: each coloured series with `more` about it, the others together with what all of them stay below.
pub(crate) fn legend(series: &[Series<'_>], more: impl Fn(&Series<'_>) -> String) -> Vec<Named> {
    let (rest, coloured): (Vec<&Series<'_>>, Vec<_>) = series.iter().partition(|one| one.hue == Hue::Rest);
    let named = |one: &Series<'_>| Named {
        hue: one.hue,
        text: format!("{}: {}", one.name, more(one)),
        marks: Marks::Line,
    };
    let mut all: Vec<Named> = coloured.into_iter().map(named).collect();
    match rest.as_slice() {
        [] => {}
        [only] => all.push(named(only)),
        several => {
            let most = several.iter().map(|one| one.entry.max()).max().unwrap_or(0);
            let text = format!("{} others, at most {} late", several.len(), Latency::from_nanos(most));
            all.push(Named { hue: Hue::Rest, text, marks: Marks::Line });
        }
    }
    all
}

/// A sentence on conditions that are not drawn.
pub(crate) fn left_out(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 more condition is not drawn; its numbers are in the table of results.".to_owned()),
        _ => {
            Some(format!("{count} more conditions are not drawn; their numbers are in the table of results."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use crate::testing::{add, analysis, condition};

    /// Seven lengths by seven policies would be seven panels of seven conditions each.
    #[test]
    fn every_condition_is_in_one_of_a_few_panels_and_in_their_legends() {
        let policies = (1..=7).map(|priority| format!("fifo:{priority}"));
        let lengths =
            |policy: String| (1..=7).map(move |ms| condition(&format!("sleep {ms}ms"), &policy, None));
        let mut all = analysis(policies.flat_map(lengths).collect());
        (0..49).for_each(|one| add(&mut all, one, 10, 1_000_000 + 1_000 * i64::from(one)));
        let entries = Entry::all(&[Recording::new("run.jsonl", &all)]);
        let panels = panels(&entries);
        let drawn: usize = panels.iter().map(|panel| panel.entries.len()).sum();
        assert!(panels.len() <= PANELS && drawn == 49, "{} panels, {drawn} conditions", panels.len());
        let legend = legend(&series(&entries), |_| String::new());
        let rest = legend.iter().find(|named| named.hue == Hue::Rest).unwrap();
        assert_eq!((legend.len(), rest.text.as_str()), (HUES + 1, "43 others, at most 1.04 ms late"));
    }
}
