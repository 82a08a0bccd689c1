//! Recordings on disk: JSON Lines, one file, appended while measuring.
//!
//! `docs/recording.md` describes the format. A killed run leaves a readable file; only the last
//! line can be incomplete. Recordings of several sources become one in `merge.rs`.

#![deny(clippy::arithmetic_side_effects, reason = "numbers are from files that anybody wrote")]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

mod bounded;
mod complete_prefix;
mod create_error;
mod history;
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
pub use merge::{LineMerger, UnknownCondition, side_by_side};
pub use parquet_files::{ColumnValues, Samples, TableColumn, write_table};
pub use read_error::ReadError;
pub use reader::Reader;
pub use resume::{RecordingProgress, TurnId, progress};
pub use rotated::{
    FolderFollower, LEAST_SIZE, LineFilter, LostLines, ReadSummary, RotatedRecording, RotationError,
    RotationLimits, SideFile, WriteStatus, has_ended, is_rotated, read_between, recorder_of,
};
pub use schema::schema;
pub use sources::{MergedFile, SourceError, Sources};
pub use target::is_stream;
pub use timelines::{
    LateLanes, TimelineFiles, TimelineQuota, WorstTimelines, compact, date_and_time, read_timeline,
    timeline_beside, timeline_text,
};
pub use writer::Writer;

/// A random id for a recording, kept in all its copies.
pub fn new_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}
