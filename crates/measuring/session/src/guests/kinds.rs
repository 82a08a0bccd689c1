//! The kinds of guests that are compared: every kernel under every circumstance on the host.

use howlate_guest::{HostSettings, Kernel};
use howlate_model::{Condition, HostCondition, Load, LoadList, Policy};
use howlate_plan::deduplicate;

/// One kind of guest, and how to boot it.
pub struct Bootable {
    /// The kernel's name in conditions.
    pub name: String,
    /// What is done on the host meanwhile.
    pub on_host: HostCondition,
    /// What is booted.
    pub kernel: Kernel,
    /// How the host runs it.
    pub settings: HostSettings,
}

impl Bootable {
    /// What such a guest measures, as it is named beside others.
    pub(crate) fn conditions(&self, measured: &[Condition]) -> Vec<Condition> {
        let named = |condition: &Condition| Condition {
            kernel: self.name.clone(),
            on_host: Some(self.on_host.clone()),
            ..condition.clone()
        };
        measured.iter().map(named).collect()
    }
}

/// What is done on the host while guests measure.
pub struct HostChoices {
    loads: Vec<Load>,
    /// Of the threads that run a guest's CPUs; `None` as they are started.
    policies: Vec<Option<Policy>>,
    /// What does not differ between kinds of guests.
    settings: HostSettings,
}

impl HostChoices {
    /// What was asked for, each once.
    pub fn new(loads: &[LoadList], policies: &[Policy], settings: HostSettings) -> Self {
        let loads = deduplicate(&loads.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>());
        let policies = match policies {
            [] => vec![None],
            some => deduplicate(some).into_iter().map(Some).collect(),
        };
        Self { loads, policies, settings }
    }

    /// Every combination of these with the kernels.
    pub fn kinds(&self, kernels: &[Kernel]) -> Vec<Bootable> {
        let mut kinds = Vec::new();
        for kernel in kernels {
            for load in &self.loads {
                for policy in &self.policies {
                    let on_host = HostCondition { load: load.clone(), vcpu_policy: *policy };
                    let settings = HostSettings { vcpu_policy: *policy, ..self.settings.clone() };
                    let (name, kernel) = (name(kernel, kernels), kernel.clone());
                    kinds.push(Bootable { name, on_host, kernel, settings });
                }
            }
        }
        kinds
    }

    /// How many guests are booted with so many kernels.
    pub fn boots(&self, kernels: usize, rounds: Option<u32>) -> usize {
        let kinds = kernels * self.loads.len() * self.policies.len();
        kinds * rounds.unwrap_or_else(|| usual_rounds(kinds)) as usize
    }
}

/// How often each kind is booted where it is not said: twice where several are compared.
pub(crate) const fn usual_rounds(kinds: usize) -> u32 {
    if kinds > 1 { 2 } else { 1 }
}

/// The release, and how it was asked for where another has the same.
fn name(kernel: &Kernel, all: &[Kernel]) -> String {
    let same = all.iter().filter(|other| other.release == kernel.release).count();
    if same > 1 { format!("{} ({})", kernel.release, kernel.asked) } else { kernel.release.clone() }
}
