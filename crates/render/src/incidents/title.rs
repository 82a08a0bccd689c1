//! What was asked for, in words: when, how many, above what; and what makes it doubtful.

use howlate_model::{Incident, WhyRemoved};
use jiff::Timestamp;

use super::Incidents;
use super::words::late_above;
use crate::numbers::count;
use crate::untrusted_text::legible;

impl Incidents {
    /// What was asked for, and how much of it there is.
    pub fn title(&self) -> String {
        let above = self.late_above.map_or_else(String::new, |above| format!(" above {}", late_above(above)));
        format!("Late threads · {}{}", self.how_many(&above), self.when())
    }

    /// Incidents are the late waits that were kept: where some were not, both numbers are told.
    fn how_many(&self, above: &str) -> String {
        let (all, missing) = (self.all(), self.kept.missing());
        let not_kept = missing.left_out.saturating_add(missing.lost);
        match (not_kept, all) {
            (0, 1) => format!("1 incident{above}"),
            (0, _) => format!("{} incidents{above}", count(all)),
            _ => {
                let late = count(all.saturating_add(not_kept));
                format!("{} of about {late} late waits{above} are kept", count(all))
            }
        }
    }

    /// How many incidents there were.
    pub(super) const fn all(&self) -> u64 {
        (self.kept.incidents.len() as u64).saturating_add(self.kept.shorter)
    }

    /// Of which time, behind a title.
    pub(super) fn when(&self) -> String {
        let first = self.from.or(self.oldest).map(|at| self.local(at));
        let until = self.until.map(|at| self.local(at));
        match (first, until) {
            (Some(from), Some(until)) => format!(" · {from} to {until}"),
            (Some(from), None) => format!(" · since {from}"),
            (None, Some(until)) => format!(" · until {until}"),
            (None, None) => String::new(),
        }
    }

    /// A moment in the zone in which time is told.
    pub fn local(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// When an incident ended, in that zone.
    pub fn time(&self, one: &Incident, format: &str) -> String {
        self.moment(&one.at, format)
    }

    /// A date and time of the recording in that zone.
    pub fn moment(&self, at: &str, format: &str) -> String {
        let parsed = at.parse::<Timestamp>().map(|at| at.to_zoned(self.zone.clone()));
        parsed.map_or_else(|_| legible(at).into_owned(), |at| at.strftime(format).to_string())
    }

    /// Whether all of them are of the day that the title begins with, so that none need say which.
    pub(super) fn is_one_day(&self, incidents: &[Incident]) -> bool {
        let day = "%Y-%m-%d";
        let first =
            self.from.or(self.oldest).map(|at| at.to_zoned(self.zone.clone()).strftime(day).to_string());
        first.is_some_and(|first| incidents.iter().all(|one| self.time(one, day) == first))
    }

    /// What makes it doubtful, a sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let missing = self.kept.missing();
        let lost = |count_: u64, text: &str| (count_ > 0).then(|| format!("{} {text}", count(count_)));
        let removed = missing.removed.iter().map(|one| {
            let files =
                if one.files == 1 { "1 file".to_owned() } else { format!("{} files", count(one.files)) };
            let why = match one.reason {
                WhyRemoved::MaxSize => "reached --max-size",
                WhyRemoved::MaxAge => "exceeded --max-age",
                WhyRemoved::DiskFull => "filled the disk",
            };
            format!("{files} removed: the recording {why}.")
        });
        let notes = [
            lost(
                missing.left_out,
                "late waits were too many to be kept, and are only counted; of those that ended within the same moment, the longest were kept.",
            ),
            lost(missing.lost, "late waits found no room and are not listed."),
            lost(missing.unseen, "context switches were lost; what had the CPU then is unknown."),
            lost(
                missing.lines,
                "lines could not be written, as the disk refused them: incidents or whole minutes are missing.",
            ),
            lost(missing.turns, "turns of marked loops were lost, or cannot have been."),
            lost(missing.loops, "marked loops, or programs with some, were too many to be read."),
            lost(
                missing.snaps,
                "requests of programs to keep what all CPUs had done were too many, and are only counted.",
            ),
            lost(
                self.cut_off,
                "files end in the middle of a line, as after a crash or while they are written.",
            ),
            self.begins_later(),
        ];
        let damaged = self.damaged.iter().map(|reason| legible(reason).into_owned());
        notes.into_iter().flatten().chain(removed).chain(damaged).collect()
    }

    fn begins_later(&self) -> Option<String> {
        let (from, oldest) = (self.from?, self.oldest?);
        (oldest > from).then(|| format!("The recording begins {}.", self.local(oldest)))
    }
}
