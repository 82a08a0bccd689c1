//! What all CPUs did around something late, as files beside a recording, which names them.

mod beside;
mod moment;
mod read;
mod text;
mod worst;

pub use self::beside::{Beside, timeline_beside};
pub(crate) use self::beside::{ENDING, is_of};
pub use self::moment::{compact, date_and_time};
pub use self::read::read_timeline;
pub use self::text::{LateLanes, timeline_text};
pub use self::worst::{AtMost, Worst};
