//! The recording on disk: JSON Lines, one file, appended as it happens.
//!
//! `docs/recording.md` describes the format. A killed run leaves a readable file; only the last
//! line can be incomplete. Recordings of several sources become one in `merge.rs`.

#![deny(clippy::arithmetic_side_effects, reason = "numbers are from files that anybody wrote")]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

mod bounded;
mod complete_prefix;
mod create_error;
mod disk_remedy;
mod history;
mod id;
mod join_blocks;
mod lock;
mod merge;
mod parquet_files;
mod read_error;
mod reader;
mod resume;
mod rewrite;
mod rotated;
mod schema;
mod sources;
mod stream;
mod target;
mod timelines;
mod writer;

pub use bounded::{LineRead, read_line_within, read_text_within};
pub use create_error::CreateError;
pub use history::{HistoryEntry, most_recent};
pub use id::new_id;
pub use merge::{Merge, UnknownCondition, side_by_side};
pub use parquet_files::{Column, Samples, Values, write_table};
pub use read_error::ReadError;
pub use reader::Reader;
pub use resume::{Progress, TurnOf, progress};
pub use rotated::{
    Account, Bounds, Follow, LEAST_SIZE, LineFilter, Loss, NotRotated, ReadBetween, Rotated, SideFile,
    has_ended, is_rotated, read_between, recorder_of,
};
pub use schema::schema;
pub use sources::{Merged, NoSource, Sources};
pub use target::is_stream;
pub use timelines::{
    AtMost, Beside, LateLanes, Worst, compact, date_and_time, read_timeline, timeline_beside, timeline_text,
};
pub use writer::Writer;
