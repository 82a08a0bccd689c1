//! A measurement on many machines, through their scheduler.
//!
//! A fleet is a folder: the program, the plan, the script that each node runs, and what came back. A scheduler
//! ([`Scheduler`]) starts that script on nodes, tells how each is doing, and brings back what it left; texts that others
//! read, such as scripts, are made by functions that run nothing. There is no scheduler of our own here.
//!
//! What nodes send is not trusted: it is bounded, names of files are never taken from it, and recordings are read as any
//! others are.

mod choice;
mod collecting;
mod document;
mod error;
mod files;
mod folder;
mod host;
mod kubernetes;
mod node_script;
mod parallel;
mod placement;
mod process;
mod program;
mod recorder_archive;
mod scheduler;
mod slurm;
mod slurm_options;
mod ssh;
mod state;
mod target;
mod task;
mod waiting;

pub use document::{FleetDocument, fleet_schema};
pub use error::FleetError;
pub use files::{PLAN, PROGRAM, SCRIPT};
pub use folder::{Fleet, FleetMember};
pub use host::{Host, HostError};
pub use kubernetes::{Kubernetes, serve_in_pod};
pub use node_script::node_script;
pub use placement::{FleetPods, PodPlacement, Toleration};
pub use program::FleetProgram;
pub use scheduler::{FetchResult, Scheduler};
pub use slurm::Slurm;
pub use slurm_options::SlurmOptions;
pub use ssh::Ssh;
pub use state::NodeStatus;
pub use target::{FleetTarget, TargetError};
pub use task::NodeTask;
pub use waiting::{FleetWait, WaitEvent, cancel};
