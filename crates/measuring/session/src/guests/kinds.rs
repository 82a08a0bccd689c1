//! Kinds of guests that are compared: every kernel with every load and policy of the host.

use howlate_guest::{GuestKernel, HostSettings};
use howlate_model::{Condition, HostCondition, Load, LoadList, Policy};
use howlate_plan::deduplicate;

/// A kind of guest, and how to boot it.
pub struct Bootable {
    /// Name of the kernel in conditions.
    pub name: String,
    /// Load and policy of the host during the measurement.
    pub on_host: HostCondition,
    pub kernel: GuestKernel,
    /// How the host runs the guest.
    pub settings: HostSettings,
}

impl Bootable {
    /// Conditions of such a guest, with names that differ from those of other kinds.
    pub(crate) fn conditions(&self, measured: &[Condition]) -> Vec<Condition> {
        let named = |condition: &Condition| Condition {
            kernel: self.name.clone(),
            on_host: Some(self.on_host.clone()),
            ..condition.clone()
        };
        measured.iter().map(named).collect()
    }
}

/// Loads, policies and settings of the host while guests measure.
pub struct HostChoices {
    loads: Vec<Load>,
    /// Policies of the threads that run the guest's CPUs; `None`: unchanged.
    policies: Vec<Option<Policy>>,
    /// Settings that all kinds share.
    settings: HostSettings,
}

impl HostChoices {
    /// Removes duplicates from `loads` and `policies`.
    pub fn new(loads: &[LoadList], policies: &[Policy], settings: HostSettings) -> Self {
        let loads = deduplicate(&loads.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>());
        let policies = match policies {
            [] => vec![None],
            some => deduplicate(some).into_iter().map(Some).collect(),
        };
        Self { loads, policies, settings }
    }

    /// All combinations with `kernels`.
    pub fn kinds(&self, kernels: &[GuestKernel]) -> Vec<Bootable> {
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

    /// Number of boots with so many kernels.
    pub fn boots(&self, kernels: usize, rounds: Option<u32>) -> usize {
        let kinds = kernels * self.loads.len() * self.policies.len();
        kinds * rounds.unwrap_or_else(|| usual_rounds(kinds)) as usize
    }
}

/// Default number of rounds: two when several kinds are compared.
pub(crate) const fn usual_rounds(kinds: usize) -> u32 {
    if kinds > 1 { 2 } else { 1 }
}

/// The release, with the name from the command line if several kernels have the same release.
fn name(kernel: &GuestKernel, all: &[GuestKernel]) -> String {
    let same = all.iter().filter(|other| other.release == kernel.release).count();
    if same > 1 { format!("{} ({})", kernel.release, kernel.asked) } else { kernel.release.clone() }
}
