//! Disturbances of turns by other processes and by quotas.

use howlate_model::{Caveat, CpuSet, System, Turn};
use howlate_procfs::Root;
use howlate_system::{Disturbance, GroupFreezes};

use crate::affinity::measured_cpus;

/// Sums over the turns so far.
pub(crate) struct Disturbances {
    root: Root,
    before: Disturbance,
    /// Sum over all turns, because a quota also stops the load.
    all: Disturbance,
    /// Sum over idle turns: under a load, sibling CPUs are busy on purpose.
    idle: Disturbance,
    measured: CpuSet,
    freezes: GroupFreezes,
}

impl Disturbances {
    pub(crate) fn new() -> Self {
        let (all, idle, before) = (Disturbance::default(), Disturbance::default(), Disturbance::default());
        let (measured, freezes) = (CpuSet::default(), GroupFreezes::of_own(Root::live()));
        Self { root: Root::live(), before, all, idle, measured, freezes }
    }

    pub(crate) fn turn_begins(&mut self) {
        self.before = Disturbance::read(&self.root);
    }

    pub(crate) fn turn_ended(&mut self, turn: &Turn) {
        let during = Disturbance::read(&self.root).since(&self.before);
        self.all.add(&during);
        if turn.load.is_idle() {
            self.idle.add(&during);
            self.measured = self.measured.iter().chain(measured_cpus(turn).iter()).collect();
        }
    }

    /// Caveats about all disturbances.
    pub(crate) fn caveats(&self, system: &System) -> Vec<Caveat> {
        let frozen = self.freezes.caveats().into_iter().chain(self.all.quotas());
        frozen.chain(self.idle.siblings(&self.measured, &system.cpus)).collect()
    }
}
