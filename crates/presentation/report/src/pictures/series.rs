//! Grouping of conditions into panels, and their colours.

use std::cmp::Reverse;

use howlate_model::{Latency, Property};

use crate::chart::{HUES, Hue, LegendEntry, LegendSymbol};
use crate::condition_names::{Facet, NamePart, facets, facets_at_most, name, varying};
use crate::entry::Entry;

/// A condition with its colour and name within a panel.
pub(crate) struct PlotSeries<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) hue: Hue,
    pub(crate) name: String,
}

/// Maximum panels of a picture.
const MAX_PANELS: usize = 6;

/// Groups of conditions drawn on top of each other. Where that needs too many panels, there are fewer, in which not
/// every condition has a colour.
pub(crate) fn panels<'a>(entries: &[Entry<'a>]) -> Vec<Facet<'a>> {
    let all = facets(entries, HUES);
    if all.len() > MAX_PANELS { facets_at_most(entries, MAX_PANELS) } else { all }
}

/// A group per condition with all its CPUs, and the number of omitted conditions.
pub(crate) fn per_condition<'a>(entries: &[Entry<'a>]) -> (Vec<Facet<'a>>, usize) {
    let is_named = |part: &NamePart| !matches!(part, NamePart::Of(Property::Cpu | Property::Thread));
    let parts: Vec<NamePart> = varying(entries).into_iter().filter(is_named).collect();
    let mut all: Vec<Facet<'a>> = Vec::new();
    for entry in entries {
        let heading = if parts.is_empty() { String::new() } else { name(entry, &parts) };
        match all.iter_mut().find(|facet| facet.heading == heading) {
            Some(facet) => facet.entries.push(*entry),
            None => all.push(Facet { heading, entries: vec![*entry] }),
        }
    }
    let left_out = all.iter().skip(MAX_PANELS).map(|facet| facet.entries.len()).sum();
    all.truncate(MAX_PANELS);
    (all, left_out)
}

/// The conditions of a panel with their colours. Of too many, those with the largest latencies have a colour; the
/// others come first, to be drawn behind.
pub(crate) fn series<'a>(entries: &[Entry<'a>]) -> Vec<PlotSeries<'a>> {
    let parts = varying(entries);
    let mut by_max: Vec<usize> = (0..entries.len()).collect();
    by_max.sort_by_key(|place| Reverse(entries[*place].max()));
    by_max.truncate(HUES);
    by_max.sort_unstable();
    let hue =
        |place: usize| by_max.iter().position(|coloured| *coloured == place).map_or(Hue::Rest, Hue::nth);
    let plot_series = |(place, entry): (usize, &Entry<'a>)| PlotSeries {
        entry: *entry,
        hue: hue(place),
        name: name(entry, &parts),
    };
    let mut all: Vec<PlotSeries<'a>> = entries.iter().enumerate().map(plot_series).collect();
    all.sort_by_key(|series| series.hue != Hue::Rest);
    all
}

/// Each coloured series with `more` about it; the grey ones together, with their maximum.
pub(crate) fn legend(
    series: &[PlotSeries<'_>],
    more: impl Fn(&PlotSeries<'_>) -> String,
) -> Vec<LegendEntry> {
    let (rest, coloured): (Vec<&PlotSeries<'_>>, Vec<_>) =
        series.iter().partition(|plotted| plotted.hue == Hue::Rest);
    let named = |plotted: &PlotSeries<'_>| LegendEntry {
        hue: plotted.hue,
        text: format!("{}: {}", plotted.name, more(plotted)),
        symbol: LegendSymbol::Line,
    };
    let mut all: Vec<LegendEntry> = coloured.into_iter().map(named).collect();
    match rest.as_slice() {
        [] => {}
        [only] => all.push(named(only)),
        several => {
            let most = several.iter().map(|plotted| plotted.entry.max()).max().unwrap_or(0);
            let text = format!("{} others, at most {} late", several.len(), Latency::from_nanos(most));
            all.push(LegendEntry { hue: Hue::Rest, text, symbol: LegendSymbol::Line });
        }
    }
    all
}

/// A sentence about omitted conditions.
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
    use crate::NamedRecording;
    use crate::testing::{add, analysis, condition};

    /// Seven lengths by seven policies would be seven panels of seven conditions each.
    #[test]
    fn every_condition_is_in_one_of_a_few_panels_and_in_their_legends() {
        let policies = (1..=7).map(|priority| format!("fifo:{priority}"));
        let lengths =
            |policy: String| (1..=7).map(move |ms| condition(&format!("sleep {ms}ms"), &policy, None));
        let mut analysis = analysis(policies.flat_map(lengths).collect());
        (0..49).for_each(|condition| {
            add(&mut analysis, condition, 10, 1_000_000 + 1_000 * i64::from(condition))
        });
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let panels = panels(&entries);
        let drawn: usize = panels.iter().map(|panel| panel.entries.len()).sum();
        assert!(panels.len() <= MAX_PANELS && drawn == 49, "{} panels, {drawn} conditions", panels.len());
        let legend = legend(&series(&entries), |_| String::new());
        let rest = legend.iter().find(|named| named.hue == Hue::Rest).unwrap();
        assert_eq!((legend.len(), rest.text.as_str()), (HUES + 1, "43 others, at most 1.04 ms late"));
    }
}
