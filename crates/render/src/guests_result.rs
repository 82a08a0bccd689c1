//! The result of all guests, and what their comparison says.

use howlate_analyse::compare::{Criteria, Track, within};
use howlate_model::{Condition, Property};

use crate::compare::{ComparisonReport, comparison_below};
use crate::detail::Detail;
use crate::prose::wrapped;
use crate::result::report;

/// Of all statements together.
const CONFIDENCE: f64 = 0.95;

/// A statement about kernels needs this many boots of each: turns of one boot have its luck in common.
const BOOTS: usize = 6;

/// The tables, then a comparison by everything in which the guests differ.
pub fn guests(track: &Track, width: usize) -> String {
    let mut text = report(&track.analysis, Detail::Brief, width);
    for property in [Property::Kernel, Property::HostLoad, Property::VcpuPolicy] {
        text.push_str(&compared(track, property, width).unwrap_or_default());
    }
    if differing(track).next().is_some() {
        text.push_str(&few_boots(track, width).unwrap_or_default());
    }
    text
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

/// `None` where nothing differs in it.
fn compared(track: &Track, property: Property, width: usize) -> Option<String> {
    let asked = Criteria { confidence: CONFIDENCE, margin: None };
    let comparison = within(track, property, None, asked).ok()?;
    comparison.compared.first()?;
    let base = ("", &track.analysis);
    let report = ComparisonReport { comparison: &comparison, asked, base, news: &[] };
    Some(format!("\n{}", comparison_below(&report, width)))
}

fn few_boots(track: &Track, width: usize) -> Option<String> {
    let boots = &track.analysis.boots;
    let kind = |number: usize| (&boots[number].kernel, &boots[number].on_host);
    let of_kind = |one: usize| (0..boots.len()).filter(|other| kind(*other) == kind(one)).count();
    let least = (0..boots.len()).map(of_kind).min()?;
    let were = if least == 1 { "was 1 boot".to_owned() } else { format!("were {least} boots") };
    let text = format!(
        "All turns of one boot share its conditions, which the comparison does not account for: there {were} of each kind of guest. Use `--rounds {BOOTS}` to compare kernels."
    );
    (least < BOOTS).then(|| format!("{}\n", wrapped(&text, width, 0)))
}
