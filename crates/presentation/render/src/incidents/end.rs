//! What became of a recording, said when it ends.

use crate::numbers::count;
use crate::untrusted_text::legible;

/// What was recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordEnd {
    /// How many were kept,
    pub incidents: u64,
    /// left out because there were too many,
    pub left_out: u64,
    /// and lost, because the ring had no room for them.
    pub lost: u64,
    /// Lines that the disk refused.
    pub not_written: u64,
    /// Commands that were not run, as the one before still did.
    pub commands_left_out: u64,
    /// The folder is not where it was any more.
    pub is_gone: bool,
}

impl RecordEnd {
    /// How many there are, and what to type to see them.
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
        let commands = match self.commands_left_out {
            0 => String::new(),
            some => format!(" {} commands were not run, as the one before still did.", count(some)),
        };
        // Of lines that are lost, nobody knows how many were incidents.
        let became = if self.not_written > 0 || self.is_gone { "seen" } else { "recorded" };
        let noun = if self.incidents == 1 { "incident" } else { "incidents" };
        format!("{} {noun} {became}{left_out}{lost}.{commands}", count(self.incidents))
    }
}

/// Said when a folder, or the file in it that is written, was taken away from its recorder.
pub fn folder_is_gone(folder: &str) -> String {
    format!(
        "{folder}, or the newest file in it, was removed or renamed while it was recorded into: what was recorded is where it was moved to, or lost. Recording ended when that was seen; start it again to go on."
    )
}

/// Said of a folder that is served and does not grow.
pub fn record_has_ended(folder: &str) -> String {
    format!(
        "Nobody records into {} at present: the page shows what is there, and metrics count only what is recorded from now on.",
        legible(folder)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_many_and_what_to_type() {
        let end = RecordEnd { incidents: 4_944, left_out: 27_019, ..RecordEnd::default() };
        let [many, left_out] = [4_944, 27_019].map(count);
        let said = format!(
            "{many} incidents recorded, {left_out} left out because there were too many. To see them:\n  howlate show r\n"
        );
        assert_eq!(end.text("r"), said);
        let one = RecordEnd { incidents: 1, lost: 2, not_written: 3, ..RecordEnd::default() };
        assert!(one.text("r").starts_with("1 incident seen, 2 lost. "), "{}", one.text("r"));
        let gone = RecordEnd { incidents: 5, is_gone: true, ..RecordEnd::default() };
        assert_eq!(gone.text("r"), "5 incidents seen.\n", "nothing to show there");
    }
}
