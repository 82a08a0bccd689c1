//! CPU frequencies: governor, limits, energy preference, turbo.

use crate::settings::NumberedFiles;
use crate::settings::energy_preferences;
use crate::settings::{BOOST_FILE, NO_TURBO_FILE};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{FREQUENCY_POLICIES, GOVERNOR, Isolation, Reading, Root};

use super::draft::{FindingDraft, finding};

/// One cpufreq policy: CPUs that share a frequency. Frequencies in kHz.
struct FrequencyPolicy {
    number: u32,
    governor: String,
    /// `energy_performance_preference`; `None` where the processor has none.
    preference: Option<String>,
    cpus: CpuSet,
    lowest: Option<u64>,
    /// The present limit, set by a user or by the firmware.
    highest: Option<u64>,
    /// The highest frequency of the hardware.
    hardware: Option<u64>,
}

impl FrequencyPolicy {
    /// The policies of the CPUs whose latency matters: the isolated ones, if there are any.
    ///
    /// Source: Documentation/admin-guide/pm/cpufreq.rst; Documentation/ABI/testing/sysfs-devices-system-cpu, `bios_limit`.
    fn all(root: &Root) -> Vec<Self> {
        let isolation = Isolation::read(root);
        let relevant_cpus = isolation.relevant_cpus();
        let policy_number = |name: String| name.strip_prefix("policy")?.parse::<u32>().ok();
        let numbers: Vec<u32> = root.list(FREQUENCY_POLICIES).into_iter().filter_map(policy_number).collect();
        let read = |(index, number): (usize, &u32)| {
            let next = numbers.get(index + 1).copied().unwrap_or(u32::MAX);
            Self::read(root, *number, &isolation.online, next)
        };
        let policies = numbers.iter().enumerate().filter_map(read);
        policies.filter(|policy| policy.cpus.iter().any(|cpu| relevant_cpus.contains(cpu))).collect()
    }

    fn read(root: &Root, number: u32, online: &CpuSet, next: u32) -> Option<Self> {
        let file = |name: &str| format!("{FREQUENCY_POLICIES}/policy{number}/{name}");
        let kilohertz =
            |name: &str| root.reading(file(name)).number::<u64>().filter(|kilohertz| *kilohertz >= 1000);
        let affected = root.read(&file("affected_cpus")).ok();
        let affected =
            affected.map(|cpus| cpus.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect());
        let highest = [kilohertz("scaling_max_freq"), kilohertz("bios_limit")].into_iter().flatten().min();
        Some(Self {
            number,
            governor: root.read(&file(GOVERNOR)).ok()?,
            preference: root.read(&file("energy_performance_preference")).ok(),
            cpus: affected
                .unwrap_or_else(|| online.iter().filter(|cpu| (number..next).contains(cpu)).collect()),
            lowest: kilohertz("scaling_min_freq"),
            highest: highest.or_else(|| kilohertz("cpuinfo_max_freq")),
            hardware: kilohertz("cpuinfo_max_freq"),
        })
    }

    /// Whether the governor has no choice of frequency.
    fn is_fixed(&self) -> bool {
        self.governor == "performance" || (self.lowest.is_some() && self.lowest == self.highest)
    }

    /// Whether the frequency is fixed, or the processor chooses it with a preference for performance.
    fn is_quick(&self) -> bool {
        self.is_fixed() || matches!(self.preference.as_deref(), Some("performance" | "0"))
    }

    /// Whether the limit is below half of the hardware's maximum: more than turbo would make up.
    fn is_limited_low(&self) -> bool {
        self.highest.zip(self.hardware).is_some_and(|(highest, hardware)| highest * 2 < hardware)
    }

    fn add_evidence(&self, root: &Root, draft: FindingDraft, names: &[&str]) -> FindingDraft {
        let readings = names
            .iter()
            .map(|name| root.reading(format!("{FREQUENCY_POLICIES}/policy{}/{name}", self.number)));
        readings
            .filter(|reading| !reading.is_missing())
            .fold(draft, |draft, reading| draft.evidence(&reading))
    }
}

/// The frequency governor of the CPUs whose latency matters, and its range.
pub(super) fn governor(root: &Root) -> Option<Finding> {
    let policies = FrequencyPolicy::all(root);
    if let Some((number, reading)) = unreadable_policy(root) {
        let found = format!("which frequency governor CPU {number} has could not be read");
        return Some(
            finding(FindingId::FrequencyGovernor, Verdict::Unknown, found).evidence(&reading).finish(),
        );
    }
    if policies.is_empty() {
        return no_scaling(root);
    }
    let (is_fixed, is_quick) =
        (policies.iter().all(FrequencyPolicy::is_fixed), policies.iter().all(FrequencyPolicy::is_quick));
    let mut names: Vec<&str> = policies.iter().map(|policy| policy.governor.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let verdict = match (is_fixed, is_quick) {
        (true, _) => Verdict::Good,
        (false, true) => Verdict::Note,
        (false, false) => Verdict::Costs,
    };
    let bounds = bounds(&policies);
    let range = match bounds {
        Some((lowest, highest)) if lowest < highest => format!(", from {lowest} to {highest} MHz"),
        Some((_, highest)) => format!(", with {highest} MHz as its only choice"),
        None => String::new(),
    };
    let found = format!("the frequency governor is {}{range}", names.join(" and "));
    let first = policies.iter().find(|policy| !policy.is_fixed()).or(policies.first())?;
    let draft = finding(FindingId::FrequencyGovernor, verdict, found);
    let draft = first.add_evidence(root, draft, &[GOVERNOR, "scaling_min_freq", "scaling_max_freq"]).why(
        "A CPU that has been idle runs slowly at first. Everything after the wake-up then takes longer, \
            until the governor raises the frequency.",
    );
    Some(
        draft
            .when(!is_fixed, |draft| add_slowdown(draft, bounds).setting(root, "frequency_governor"))
            .finish(),
    )
}

/// A policy whose governor cannot be read, unless another policy already needs a change.
fn unreadable_policy(root: &Root) -> Option<(u32, Reading)> {
    if FrequencyPolicy::all(root).iter().any(|policy| !policy.is_quick()) {
        return None;
    }
    let isolation = Isolation::read(root);
    let policy_number = |name: String| name.strip_prefix("policy")?.parse::<u32>().ok();
    let numbers = root.list(FREQUENCY_POLICIES).into_iter().filter_map(policy_number);
    let mut relevant = numbers.filter(|number| isolation.relevant_cpus().contains(*number));
    let is_unreadable =
        |number: &u32| root.read(&format!("{FREQUENCY_POLICIES}/policy{number}/{GOVERNOR}")).is_err();
    let number = relevant.find(is_unreadable)?;
    Some((number, root.reading(format!("{FREQUENCY_POLICIES}/policy{number}/{GOVERNOR}"))))
}

/// CPUs whose frequency limit is far below the hardware's maximum.
pub(super) fn limit(root: &Root) -> Option<Finding> {
    let policies = FrequencyPolicy::all(root);
    let low: Vec<&FrequencyPolicy> = policies.iter().filter(|policy| policy.is_limited_low()).collect();
    let worst = low.iter().min_by_key(|policy| policy.highest)?;
    let (highest, hardware) = (worst.highest? / 1000, worst.hardware? / 1000);
    let cpus: CpuSet = low.iter().flat_map(|policy| policy.cpus.iter()).collect();
    let found = format!("CPUs {cpus} may run at no more than {highest} MHz of {hardware}");
    let draft = finding(FindingId::FrequencyLimit, Verdict::Costs, found);
    let by_firmware = root.has(&format!("{FREQUENCY_POLICIES}/policy{}/bios_limit", worst.number));
    let draft = worst.add_evidence(
        root,
        draft,
        &["scaling_max_freq", "bios_limit", "cpuinfo_max_freq", "scaling_cur_freq"],
    );
    let draft = draft
        .why(
            "Whatever the governor, code slows down in proportion. The firmware lowers the limit for heat, \
             a weak power supply or an empty battery; power-saving programs lower it as well.",
        )
        .cost(
            describe_slowdown(highest, hardware),
            "this machine's scaling_max_freq, bios_limit and cpuinfo_max_freq",
        );
    let cooling = active_coolers(root);
    let draft = cooling.iter().fold(draft, |draft, reading| draft.evidence(reading));
    let draft = draft.when(by_firmware || !cooling.is_empty(), |draft| {
        draft.apply(
            "look for the reason first, which no setting lifts: heat, the power supply, the battery, a power limit of the firmware",
        )
    });
    let no_turbo = root.reading(NO_TURBO_FILE);
    if no_turbo.text() == Some("1") {
        let write = |value: &str| format!("echo {value} | sudo tee {NO_TURBO_FILE}");
        return Some(draft.evidence(&no_turbo).apply(write("0")).undo(write("1")).finish());
    }
    let files = NumberedFiles::list(root, FREQUENCY_POLICIES, "policy", "scaling_max_freq");
    let files = files.filter_numbers(|number| low.iter().any(|policy| policy.number == number));
    let hardware = worst.hardware?.to_string();
    // The present value may be the firmware's limit: written back, it would become the user's own limit.
    let apply = files.write(&hardware).remedy.apply;
    let draft = apply.into_iter().fold(draft, FindingDraft::apply);
    Some(draft.undo("nothing: it lifts a limit that a user has set, and no other").finish())
}

/// The cooling devices that throttle processors at present.
///
/// Source: Documentation/driver-api/thermal/sysfs-api.rst.
fn active_coolers(root: &Root) -> Vec<Reading> {
    const THERMAL: &str = "/sys/class/thermal";
    let devices = root.list(THERMAL).into_iter().filter(|name| name.starts_with("cooling_device"));
    let is_of_processor = |device: &String| {
        let kind = root.read(&format!("{THERMAL}/{device}/type")).unwrap_or_default().to_ascii_lowercase();
        kind.contains("cpu") || kind.contains("processor")
    };
    let state = |device: String| root.reading(format!("{THERMAL}/{device}/cur_state"));
    devices
        .filter(is_of_processor)
        .map(state)
        .filter(|state| state.number::<u64>().is_some_and(|state| state > 0))
        .collect()
}

fn no_scaling(root: &Root) -> Option<Finding> {
    let online = root.reading("/sys/devices/system/cpu/online");
    online.text()?;
    let draft =
        finding(FindingId::FrequencyGovernor, Verdict::Note, "this kernel does not set CPU frequencies")
            .evidence(&root.reading(format!("{FREQUENCY_POLICIES}/policy0/{GOVERNOR}")))
            .why("The firmware or the host decides how fast the CPUs run.");
    Some(draft.finish())
}

/// The lowest and the highest allowed frequency in MHz; `None` where either is unknown.
fn bounds(policies: &[FrequencyPolicy]) -> Option<(u64, u64)> {
    let lowest = policies.iter().filter_map(|policy| policy.lowest).min()?;
    let highest = policies.iter().filter_map(|policy| policy.highest).max()?;
    (highest >= lowest).then_some((lowest / 1000, highest / 1000))
}

/// Adds the slowdown at the lowest frequency as the typical cost.
fn add_slowdown(draft: FindingDraft, bounds: Option<(u64, u64)>) -> FindingDraft {
    let Some((lowest, highest)) = bounds.filter(|(lowest, highest)| lowest < highest) else { return draft };
    draft.cost(describe_slowdown(lowest, highest), "this machine's scaling_min_freq and scaling_max_freq")
}

fn describe_slowdown(lowest: u64, highest: u64) -> String {
    let tenths = highest.saturating_mul(10) / lowest.max(1);
    format!(
        "code takes up to {}.{} times as long at {lowest} MHz as at {highest} MHz",
        tenths / 10,
        tenths % 10
    )
}

/// The energy performance preference of the processor's own frequency control.
///
/// Source: `Documentation/admin-guide/pm/intel_pstate.rst`, energy vs performance hints.
pub(super) fn preference(root: &Root) -> Option<Finding> {
    let relevant: Vec<u32> = FrequencyPolicy::all(root).iter().map(|policy| policy.number).collect();
    let preferences = energy_preferences(root).filter_numbers(|policy| relevant.contains(&policy));
    if preferences.is_empty() {
        return None;
    }
    let values = preferences.values().join(" and ");
    let verdict_of = |value: &&str| match *value {
        "performance" | "0" => Verdict::Good,
        "balance_performance" | "default" => Verdict::Note,
        _ => Verdict::Costs,
    };
    let verdict = preferences.values().iter().map(verdict_of).min().unwrap_or(Verdict::Note);
    let draft =
        finding(FindingId::EnergyPreference, verdict, format!("the processor is told to prefer {values}"))
            .examples(&preferences)
            .why(
                "The processor raises its own frequency; the preference decides how readily. While the \
            governor is `performance` it cannot be changed.",
            );
    Some(draft.when(verdict != Verdict::Good, |draft| draft.setting(root, "energy_preference")).finish())
}

/// Whether the processor may run faster than its base frequency.
pub(super) fn turbo(root: &Root) -> Option<Finding> {
    let (no_turbo, boost) = (root.reading(NO_TURBO_FILE), root.reading(BOOST_FILE));
    let (reading, on) = match (no_turbo.text(), boost.text()) {
        (Some(value), _) => (&no_turbo, value == "0"),
        (None, Some(value)) => (&boost, value == "1"),
        (None, None) => return None,
    };
    let found = if on { "turbo frequencies are on" } else { "turbo frequencies are off" };
    let draft = finding(FindingId::Turbo, Verdict::Note, found).evidence(reading).why(
        "Turbo is faster, but by how much depends on temperature and on the other cores. Without it, the same \
            code takes about the same time every time.",
    );
    Some(draft.when(on, |draft| draft.setting(root, "boost")).finish())
}

/// The platform profile of the firmware.
///
/// Source: Documentation/ABI/testing/sysfs-platform_profile.
pub(super) fn profile(root: &Root) -> Option<Finding> {
    const FILE: &str = "/sys/firmware/acpi/platform_profile";
    let (profile, choices) = (root.reading(FILE), root.reading(format!("{FILE}_choices")));
    let now = profile.text()?.to_owned();
    let verdict = match now.as_str() {
        "performance" | "balanced-performance" => Verdict::Good,
        "low-power" | "cool" | "quiet" => Verdict::Costs,
        _ => Verdict::Note,
    };
    let found = format!("the firmware is told to prefer {now} (platform profile)");
    let draft = finding(FindingId::PlatformProfile, verdict, found).evidence(&profile).evidence(&choices).why(
        "The firmware keeps the processor's power, and with it its frequency, below what it could be, whatever the governor says.",
    );
    let has_better =
        choices.text().is_none_or(|choices| choices.split(' ').any(|choice| choice == "performance"));
    let add_remedy = |draft: FindingDraft| {
        draft
            .apply(format!("echo performance | sudo tee {FILE}"))
            .undo(format!("echo {now} | sudo tee {FILE}"))
    };
    Some(draft.when(verdict != Verdict::Good && has_better, add_remedy).finish())
}
