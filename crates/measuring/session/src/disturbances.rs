//! What disturbed the turns of a session from outside.

use howlate_model::{Caveat, CpuSet, System, Turn};
use howlate_procfs::Root;
use howlate_system::{Disturbance, GroupFreezes};

use crate::affinity::measured_cpus;

/// Sums over the turns so far.
pub(crate) struct Disturbances {
    root: Root,
    before: Disturbance,
    /// Of all turns: a quota stops the load as well as what is measured.
    all: Disturbance,
    /// Of the turns that were to be idle: under a load siblings are meant to be busy.
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

    /// A turn begins.
    pub(crate) fn turn_begins(&mut self) {
        self.before = Disturbance::read(&self.root);
    }

    /// The turn ended.
    pub(crate) fn turn_ended(&mut self, turn: &Turn) {
        let during = Disturbance::read(&self.root).since(&self.before);
        self.all.add(&during);
        if turn.load.is_idle() {
            self.idle.add(&during);
            self.measured = self.measured.iter().chain(measured_cpus(turn).iter()).collect();
        }
    }

    /// What there is to know at the end.
    pub(crate) fn caveats(&self, system: &System) -> Vec<Caveat> {
        let frozen = self.freezes.caveats().into_iter().chain(self.all.quotas());
        frozen.chain(self.idle.siblings(&self.measured, &system.cpus)).collect()
    }
}
