//! The result of guests with their comparison.

use howlate_analyse::compare::{Comparison, Criteria, Track, within};
use howlate_model::{Condition, Property};

use crate::answer::SCREENFUL;
use crate::compare::{ComparisonReport, comparison_below};
use crate::prose::wrapped;
use crate::result::report_within;

/// Joint confidence of all comparisons.
const CONFIDENCE: f64 = 0.95;

/// The tables, then a comparison by each property in which the guests differ, the answer last.
pub fn guests(track: &Track, width: usize) -> String {
    let (mut enough, mut text) = (0, String::new());
    for comparison in differing(track).filter_map(|property| compared(track, property)) {
        enough = enough.max(comparison.least_pairs(CONFIDENCE));
        text.push_str(&below(track, &comparison, width));
    }
    text.push_str(&few_boots(track, enough, width).unwrap_or_default());
    let room = SCREENFUL.saturating_sub(text.lines().count());
    format!("{}{text}", report_within(&track.analysis, room, width))
}

fn differing(track: &Track) -> impl Iterator<Item = Property> {
    let conditions = &track.analysis.header.conditions;
    let all = [Property::Kernel, Property::HostLoad, Property::VcpuPolicy];
    let differs = |property: &Property| {
        conditions
            .iter()
            .any(|condition: &Condition| property.value_in(condition) != property.value_in(&conditions[0]))
    };
    all.into_iter().filter(differs)
}

const CRITERIA: Criteria = Criteria { confidence: CONFIDENCE, margin: None };

/// `None` where nothing could be compared.
fn compared(track: &Track, property: Property) -> Option<Comparison> {
    within(track, property, None, CRITERIA).ok().filter(|comparison| !comparison.compared.is_empty())
}

fn below(track: &Track, comparison: &Comparison, width: usize) -> String {
    let base = ("", &track.analysis);
    let report = ComparisonReport { comparison, criteria: CRITERIA, base, news: &[] };
    format!("\n{}", comparison_below(&report, width))
}

/// A caution about too few boots: turns of one boot are correlated.
fn few_boots(track: &Track, enough: usize, width: usize) -> Option<String> {
    let boots = &track.analysis.boots;
    let kind = |number: usize| (&boots[number].kernel, &boots[number].on_host);
    let boots_of_kind = |number: usize| (0..boots.len()).filter(|other| kind(*other) == kind(number)).count();
    let fewest = (0..boots.len()).map(boots_of_kind).min()?;
    let were = if fewest == 1 { "was 1 boot".to_owned() } else { format!("were {fewest} boots") };
    let text = format!(
        "All turns of one boot share its conditions, which the comparison does not account for: there {were} of each kind of guest. Use `--rounds {enough}` to compare them."
    );
    (fewest < enough).then(|| format!("{}\n", wrapped(&text, width, 0)))
}
