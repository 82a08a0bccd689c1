//! Which scheduler a fleet runs on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::FleetError;
use crate::folder::Fleet;
use crate::kubernetes::Kubernetes;
use crate::scheduler::Scheduler;
use crate::slurm::Slurm;
use crate::ssh::Ssh;
use crate::target::{FleetTarget, TargetError};

impl Fleet {
    /// A fleet that was started before, and the scheduler that it was started on.
    ///
    /// # Errors
    ///
    /// When the folder holds none.
    pub fn open_with_scheduler(
        folder: &Path,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<(Self, Box<dyn Scheduler>), FleetError> {
        let fleet = Self::open(folder)?;
        let none =
            |error: TargetError| FleetError::NoFleet { path: folder.to_owned(), reason: error.to_string() };
        let on: FleetTarget = fleet.on.parse().map_err(none)?;
        let scheduler = on.scheduler(&fleet, fleet.at_once, interrupted);
        Ok((fleet, scheduler))
    }
}

impl FleetTarget {
    /// The scheduler of a fleet that runs here, `at_once` of its nodes side by side.
    pub fn scheduler(
        &self,
        fleet: &Fleet,
        at_once: u16,
        interrupted: &Arc<AtomicBool>,
    ) -> Box<dyn Scheduler> {
        let at_once = usize::from(at_once);
        match self {
            Self::Slurm { partition } => {
                Box::new(Slurm { partition: partition.clone(), interrupted: Arc::clone(interrupted) })
            }
            Self::Kubernetes { context } => {
                let placement = fleet.pods.as_ref().map(|pods| pods.placement.clone()).unwrap_or_default();
                let (context, interrupted) = (context.clone(), Arc::clone(interrupted));
                Box::new(Kubernetes { context, placement, at_once, interrupted })
            }
            Self::Ssh(_) | Self::SshFile(_) => {
                Box::new(Ssh { at_once, interrupted: Arc::clone(interrupted) })
            }
        }
    }
}
