//! Messages of a recorder about its folder, its disk and its end.

use howlate_model::{AsText, WriteFailure};

use crate::caveats::commands_left_out;
use crate::numbers::count;
use crate::untrusted_text::legible;

/// Result of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordEnd {
    /// Number of incidents that were kept.
    pub incidents: u64,
    /// Number left out because there were too many.
    pub left_out: u64,
    /// Number lost for lack of room in the ring buffer.
    pub lost: u64,
    /// Lines that the disk refused.
    pub not_written: u64,
    /// Commands not run because the previous one was still running.
    pub commands_left_out: u64,
    /// Whether the folder was removed or renamed.
    pub is_gone: bool,
}

impl RecordEnd {
    /// The number of incidents, and the command that shows them.
    pub fn text(&self, folder: &str) -> String {
        let sentence = self.sentence();
        match self.incidents {
            _ if self.is_gone => format!("{sentence}\n"),
            0 => format!("{sentence} To see how long all others waited:\n  howlate show {folder}\n"),
            _ => format!("{sentence} To see them:\n  howlate show {folder}\n"),
        }
    }

    fn sentence(&self) -> String {
        let part = |number: u64, what: &str| match number {
            0 => String::new(),
            number => format!(", {} {what}", count(number)),
        };
        let left_out = part(self.left_out, "left out because there were too many");
        let lost = part(self.lost, "lost");
        let commands = (self.commands_left_out > 0).then(|| commands_left_out(self.commands_left_out));
        let commands = commands.map_or_else(String::new, |commands| format!(" {commands}"));
        // Lost lines may have been incidents.
        let verb = if self.not_written > 0 || self.is_gone { "seen" } else { "recorded" };
        let noun = if self.incidents == 1 { "incident" } else { "incidents" };
        format!("{} {noun} {verb}{left_out}{lost}.{commands}", count(self.incidents))
    }
}

/// Message when the folder or its current file was removed or renamed while recording.
pub fn folder_is_gone(folder: &str) -> String {
    format!(
        "{folder}, or the newest file in it, was removed or renamed while it was recorded into: what was recorded is where it was moved to, or lost. Recording ended when that was seen; start it again to go on."
    )
}

/// Message for a served folder to which no recorder writes.
pub fn record_has_ended(folder: &str) -> String {
    format!(
        "No recorder is writing to {}: the page shows what is there, and metrics count only what is recorded from now on.",
        legible(folder)
    )
}

/// Message at the first error, while recording goes on.
pub fn disk_refuses(folder: &str, reason: &AsText<WriteFailure>) -> String {
    format!(
        "Lines are being lost: {folder} cannot be written to ({reason}). Recording goes on, and tries again; what is there already can be read."
    )
}

/// Message when writing succeeds again.
pub fn disk_takes_again(folder: &str, lost: u64) -> String {
    format!("{folder} can be written to again; {} lost.", lines(lost))
}

/// Message at the end of the recording.
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
    fn it_says_how_many_and_what_to_type() {
        let end = RecordEnd { incidents: 4_944, left_out: 27_019, ..RecordEnd::default() };
        let [many, left_out] = [4_944, 27_019].map(count);
        let expected = format!(
            "{many} incidents recorded, {left_out} left out because there were too many. To see them:\n  howlate show r\n"
        );
        assert_eq!(end.text("r"), expected);
        let single = RecordEnd { incidents: 1, lost: 2, not_written: 3, ..RecordEnd::default() };
        assert!(single.text("r").starts_with("1 incident seen, 2 lost. "), "{}", single.text("r"));
        let removed = RecordEnd { incidents: 5, is_gone: true, ..RecordEnd::default() };
        assert_eq!(removed.text("r"), "5 incidents seen.\n", "nothing to show there");
    }

    #[test]
    fn it_says_what_was_found_what_is_lost_and_where_the_rest_is() {
        let reason = WriteFailure::Os(OsError(5)).into();
        let message = lines_not_written("/var/lib/howlate", 3, Some(&reason));
        let parts = ["3 lines", "Input/output error", "All others are in /var/lib/howlate"];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert!(disk_takes_again("a", 1).contains("1 line lost"));
    }
}
