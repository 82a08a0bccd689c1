//! The kinds of guests that are compared: every kernel under every circumstance on the host.

use howlate_guest::{HostSettings, Kernel, Kind};
use howlate_model::{Load, OnHost, Policy};

use super::settings;
use crate::cli::{Guest, without_repeats};

/// One kind of guest, and how to boot it.
pub(super) struct Bootable {
    pub(super) kind: Kind,
    pub(super) kernel: Kernel,
    pub(super) settings: HostSettings,
}

/// Every combination of what was asked.
pub(super) fn kinds(kernels: &[Kernel], asked: &Guest) -> Vec<Bootable> {
    let mut kinds = Vec::new();
    for kernel in kernels {
        for load in loads(asked) {
            for policy in policies(asked) {
                let on_host = OnHost { load: load.clone(), vcpu_policy: policy };
                let kind = Kind { kernel: name(kernel, kernels), on_host };
                let settings = HostSettings { vcpu_policy: policy, ..settings(asked) };
                kinds.push(Bootable { kind, kernel: kernel.clone(), settings });
            }
        }
    }
    kinds
}

fn loads(asked: &Guest) -> Vec<Load> {
    without_repeats(&asked.host_load.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>())
}

fn policies(asked: &Guest) -> Vec<Option<Policy>> {
    if asked.vcpu_policy.is_empty() {
        return vec![None];
    }
    without_repeats(&asked.vcpu_policy).into_iter().map(Some).collect()
}

/// The release, and how it was asked for where another has the same.
fn name(kernel: &Kernel, all: &[Kernel]) -> String {
    let same = all.iter().filter(|other| other.release == kernel.release).count();
    if same > 1 { format!("{} ({})", kernel.release, kernel.asked) } else { kernel.release.clone() }
}
