//! Results for test farms, data bases and viewers: one small file each.

mod benchmark;
mod hgrm;
mod hlog;
mod influx;
mod junit;
mod kcidb;
mod lava;
mod moment;
mod names;
mod osadl;
mod prometheus;
mod tap;
mod trace;

pub use benchmark::benchmark;
pub use hgrm::hgrm;
pub use hlog::hlog;
pub use influx::influx;
pub(crate) use junit::for_jenkins;
pub use junit::junit;
pub use kcidb::kcidb;
pub use lava::lava;
pub use osadl::osadl;
pub use prometheus::prometheus;
pub use tap::tap;
pub use trace::trace;
