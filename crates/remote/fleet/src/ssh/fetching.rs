//! The recording of a node, brought here.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;

use super::connection::{Connection, TRANSFER};
use super::remote_script;
use crate::folder::Fleet;
use crate::process::after;
use crate::scheduler::{FetchResult, LONGEST_RECORDING, TOO_LONG};

/// What outcome of the node.
#[derive(Default)]
enum FetchOutcome {
    /// The connection ended before anything outcome.
    #[default]
    Nothing,
    /// So many bytes are in the file.
    Bytes(u64),
    TooMany,
    /// They cannot be kept here.
    NotKept(io::Error),
}

/// Brings a recording here, and removes what was there.
pub(super) fn fetch(fleet: &Fleet, node: usize, interrupted: &AtomicBool) -> Result<FetchResult, String> {
    let wrong = |error: io::Error| format!("its recording cannot be kept here: {error}");
    let part = tempfile::NamedTempFile::new_in(&fleet.folder).map_err(wrong)?;
    let into = part.reopen().map_err(wrong)?;
    let mark = remote_script::mark(fleet);
    let connection = Connection::to(fleet, node, interrupted);
    let (output, outcome) = connection
        .run(&remote_script::hand_over(fleet, node), TRANSFER, move |out| copy_after(&mark, out, into))?;
    match outcome {
        FetchOutcome::TooMany => Err(TOO_LONG.to_owned()),
        FetchOutcome::NotKept(error) => Err(wrong(error)),
        _ if !output.is_success() => Err(output.reason()),
        FetchOutcome::Nothing => Err("it answers something else".to_owned()),
        FetchOutcome::Bytes(0) => Ok(FetchResult::None),
        FetchOutcome::Bytes(_) => {
            fleet.keep(node, part.path()).map_err(wrong)?;
            // It is here; what stays there is small, and a shell's to forget.
            drop(connection.run_script(&remote_script::remove(fleet, node)));
            Ok(FetchResult::Here)
        }
    }
}

/// Copies what follows the mark. One that sends more than a recording may have is read no further.
fn copy_after(mark: &str, out: Box<dyn Read>, mut into: File) -> FetchOutcome {
    let Some(from) = after(mark, out) else { return FetchOutcome::Nothing };
    match io::copy(&mut from.take(LONGEST_RECORDING + 1), &mut into) {
        Ok(copied) if copied > LONGEST_RECORDING => FetchOutcome::TooMany,
        Ok(copied) => FetchOutcome::Bytes(copied),
        Err(error) => FetchOutcome::NotKept(error),
    }
}
