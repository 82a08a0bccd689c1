//! Results for test farms, data bases and viewers: one small file each.

mod bmf;
mod github_action_benchmark;
mod hgrm;
mod hlog;
mod influx;
mod junit;
mod kcidb;
mod lava;
mod names;
mod openmetrics;
mod osadl;
mod prometheus;
mod tap;
mod trace;

pub use bmf::bmf;
pub use github_action_benchmark::benchmark;
pub use hgrm::hgrm;
pub use hlog::hlog;
pub use influx::influx;
pub use junit::junit;
pub(crate) use junit::{failure, for_jenkins};
pub use kcidb::kcidb;
pub use lava::lava;
pub use names::finding;
pub use openmetrics::openmetrics;
pub use osadl::osadl;
pub(crate) use prometheus::{family, labelled, seconds};
pub use prometheus::{openmetrics2, prometheus};
pub use tap::tap;
pub use trace::trace;
