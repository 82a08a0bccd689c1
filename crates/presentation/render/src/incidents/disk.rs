//! What the disk refused of a recording, in words.

use howlate_model::{AsText, WriteFailure};

use crate::numbers::count;

/// Told as soon as it does, in the middle of recording.
pub fn disk_refuses(folder: &str, reason: &AsText<WriteFailure>) -> String {
    format!(
        "Lines are being lost: {folder} cannot be written to ({reason}). Recording goes on, and tries again; what is there already can be read."
    )
}

/// Told when it takes lines again.
pub fn disk_takes_again(folder: &str, lost: u64) -> String {
    format!("{folder} can be written to again; {} lost.", lines(lost))
}

/// Told at the end.
pub fn lines_not_written(folder: &str, lost: u64, reason: Option<&AsText<WriteFailure>>) -> String {
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    format!(
        "{} could not be written{reason}: incidents or whole minutes are missing. All others are in {folder}.",
        lines(lost)
    )
}

fn lines(number: u64) -> String {
    if number == 1 { "1 line".to_owned() } else { format!("{} lines", count(number)) }
}

#[cfg(test)]
mod tests {
    use howlate_model::OsError;

    use super::*;

    #[test]
    fn it_says_what_was_found_what_is_lost_and_where_the_rest_is() {
        let reason = WriteFailure::Os(OsError(5)).into();
        let said = lines_not_written("/var/lib/howlate", 3, Some(&reason));
        let parts = ["3 lines", "Input/output error", "All others are in /var/lib/howlate"];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(disk_takes_again("a", 1).contains("1 line lost"));
    }
}
