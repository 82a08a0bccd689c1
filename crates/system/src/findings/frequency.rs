//! How fast the CPUs run, and who decides.

use howlate_knobs::boost::{BOOST, NO_TURBO};
use howlate_knobs::energy_preference::preferences;
use howlate_knobs::frequency_governor::governors;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{FREQUENCY_POLICIES, GOVERNOR, Root};

use super::draft::{Draft, finding};

/// The governor of every frequency policy.
pub(super) fn governor(root: &Root) -> Option<Finding> {
    let governors = governors(root);
    if governors.is_empty() {
        return no_scaling(root);
    }
    let fixed = governors.values() == ["performance"];
    let verdict = if fixed { Verdict::Good } else { Verdict::Costs };
    let found = format!("the frequency governor is {}{}", governors.values().join(" and "), range(root));
    let draft = finding(FindingId::FrequencyGovernor, verdict, found).examples(&governors).why(
        "A CPU that has been idle runs slowly at first. Everything after the wake-up then takes longer, \
            until the governor raises the frequency.",
    );
    Some(draft.when(!fixed, |draft| ratio(root, draft).turn(root, "frequency_governor")).end())
}

fn no_scaling(root: &Root) -> Option<Finding> {
    let online = root.reading("/sys/devices/system/cpu/online");
    online.text()?;
    let draft =
        finding(FindingId::FrequencyGovernor, Verdict::Note, "this kernel does not set CPU frequencies")
            .seen(&root.reading(format!("{FREQUENCY_POLICIES}/policy0/{GOVERNOR}")))
            .why("The firmware or the host decides how fast the CPUs run.");
    Some(draft.end())
}

fn kilohertz(root: &Root, name: &str) -> Option<u64> {
    root.reading(format!("{FREQUENCY_POLICIES}/policy0/{name}")).number()
}

/// Lowest and highest frequency, in MHz, where both are known.
fn bounds(root: &Root) -> Option<(u64, u64)> {
    let (lowest, highest) = (kilohertz(root, "scaling_min_freq")?, kilohertz(root, "cpuinfo_max_freq")?);
    (lowest >= 1000 && highest > lowest).then_some((lowest / 1000, highest / 1000))
}

fn range(root: &Root) -> String {
    bounds(root).map(|(lowest, highest)| format!(", from {lowest} to {highest} MHz")).unwrap_or_default()
}

/// What the slowest frequency costs is plain arithmetic on the machine's own figures.
fn ratio(root: &Root, draft: Draft) -> Draft {
    let Some((lowest, highest)) = bounds(root) else { return draft };
    let tenths = highest * 10 / lowest;
    draft.typically(
        format!(
            "code takes up to {}.{} times as long at {lowest} MHz as at {highest} MHz",
            tenths / 10,
            tenths % 10
        ),
        "this machine's scaling_min_freq and cpuinfo_max_freq",
    )
}

/// What the processor's own frequency control is told to prefer.
///
/// Source: `Documentation/admin-guide/pm/intel_pstate.rst`, energy vs performance hints.
pub(super) fn preference(root: &Root) -> Option<Finding> {
    let preferences = preferences(root);
    if preferences.is_empty() {
        return None;
    }
    let values = preferences.values().join(" and ");
    let verdict = match values.as_str() {
        "performance" | "0" => Verdict::Good,
        "balance_performance" | "default" => Verdict::Note,
        _ => Verdict::Costs,
    };
    let draft =
        finding(FindingId::EnergyPreference, verdict, format!("the processor is told to prefer {values}"))
            .examples(&preferences)
            .why(
                "The processor raises its own frequency; the preference decides how readily. While the \
            governor is `performance` it cannot be changed.",
            );
    Some(draft.when(verdict != Verdict::Good, |draft| draft.turn(root, "energy_preference")).end())
}

/// Whether the processor may run faster than its base frequency.
pub(super) fn turbo(root: &Root) -> Option<Finding> {
    let (no_turbo, boost) = (root.reading(NO_TURBO), root.reading(BOOST));
    let (seen, on) = match (no_turbo.text(), boost.text()) {
        (Some(value), _) => (&no_turbo, value == "0"),
        (None, Some(value)) => (&boost, value == "1"),
        (None, None) => return None,
    };
    let found = if on { "turbo frequencies are on" } else { "turbo frequencies are off" };
    let draft = finding(FindingId::Turbo, Verdict::Note, found).seen(seen).why(
        "Turbo is faster, but by how much depends on temperature and on the other cores. Without it, the same \
            code takes about the same time every time.",
    );
    Some(draft.when(on, |draft| draft.turn(root, "boost")).end())
}
