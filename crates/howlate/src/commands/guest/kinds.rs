//! The kinds of guests that are compared: every kernel under every circumstance on the host.

use howlate_guest::{HostSettings, Kernel};
use howlate_model::{Condition, Load, OnHost, Policy};
use howlate_plan::without_repeats;

use super::settings;
use crate::cli::Guest;

/// One kind of guest, and how to boot it.
pub(super) struct Bootable {
    /// The kernel's name in conditions.
    pub(super) name: String,
    /// What is done on the host meanwhile.
    pub(super) on_host: OnHost,
    pub(super) kernel: Kernel,
    pub(super) settings: HostSettings,
}

impl Bootable {
    /// What such a guest measures, as it is named beside others.
    pub(super) fn conditions(&self, measured: &[Condition]) -> Vec<Condition> {
        let named = |condition: &Condition| Condition {
            kernel: self.name.clone(),
            on_host: Some(self.on_host.clone()),
            ..condition.clone()
        };
        measured.iter().map(named).collect()
    }
}

/// Every combination of what was asked.
pub(super) fn kinds(kernels: &[Kernel], args: &Guest) -> Vec<Bootable> {
    let mut kinds = Vec::new();
    for kernel in kernels {
        for load in loads(args) {
            for policy in policies(args) {
                let on_host = OnHost { load: load.clone(), vcpu_policy: policy };
                let settings = HostSettings { vcpu_policy: policy, ..settings(args) };
                let (name, kernel) = (name(kernel, kernels), kernel.clone());
                kinds.push(Bootable { name, on_host, kernel, settings });
            }
        }
    }
    kinds
}

/// How many guests are booted.
pub(crate) fn boots(args: &Guest) -> usize {
    let kinds = without_repeats(&args.kernel).len() * loads(args).len() * policies(args).len();
    kinds * args.rounds.unwrap_or_else(|| usual_rounds(kinds)) as usize
}

/// How often each kind is booted where it is not said: twice where several are compared.
pub(super) const fn usual_rounds(kinds: usize) -> u32 {
    if kinds > 1 { 2 } else { 1 }
}

fn loads(args: &Guest) -> Vec<Load> {
    without_repeats(&args.host_load.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>())
}

fn policies(args: &Guest) -> Vec<Option<Policy>> {
    if args.vcpu_policy.is_empty() {
        return vec![None];
    }
    without_repeats(&args.vcpu_policy).into_iter().map(Some).collect()
}

/// The release, and how it was asked for where another has the same.
fn name(kernel: &Kernel, all: &[Kernel]) -> String {
    let same = all.iter().filter(|other| other.release == kernel.release).count();
    if same > 1 { format!("{} ({})", kernel.release, kernel.asked) } else { kernel.release.clone() }
}
