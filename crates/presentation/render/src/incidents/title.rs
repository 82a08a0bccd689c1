//! Titles of recordings: when, how many incidents, above which limit; and what makes them doubtful.

use howlate_analyse::percentile;
use howlate_model::{Distribution, Incident, RemovalReason, Span};
use jiff::Timestamp;

use super::IncidentReport;
use super::wording::late_above;
use crate::numbers::{count, rough};
use crate::untrusted_text::legible;

/// In place of a number of incidents.
const NOT_RECORDED: &str = "not recorded";

impl IncidentReport {
    /// Number of incidents and requested time.
    pub fn title(&self) -> String {
        let above = self.late_above.map_or_else(String::new, |above| format!(" above {}", late_above(above)));
        format!("Late threads · {}{}", self.how_many(&above), self.when())
    }

    /// Both numbers where not all late waits were kept as incidents.
    fn how_many(&self, above: &str) -> String {
        let (all, not_kept) = (self.all(), self.not_kept());
        match not_kept {
            _ if self.is_not_recorded() => NOT_RECORDED.to_owned(),
            0 => format!("{}{above}", incidents(all)),
            _ => {
                let late = count(all.saturating_add(not_kept));
                format!("{} of about {late} late waits{above} are kept", count(all))
            }
        }
    }

    /// `1 incident`; where not all were kept, `11 439 of about 70 900 incidents`; `not recorded` where no recorder ran.
    pub fn counted(&self) -> String {
        if self.is_not_recorded() { NOT_RECORDED.to_owned() } else { counted(self.all(), self.not_kept()) }
    }

    /// `counted` without the noun.
    pub(super) fn number(&self) -> String {
        match self.not_kept() {
            _ if self.is_not_recorded() => NOT_RECORDED.to_owned(),
            0 => count(self.all()),
            more => format!("{} of {}", count(self.all()), count(self.all().saturating_add(more))),
        }
    }

    /// Late waits without an incident. If there were any, at least as many as the groups have more than are kept: of the recorder's own
    /// waits there is no incident.
    pub fn not_kept(&self) -> u64 {
        let missing = self.recording.missing();
        let groups = self.recording.minutes.iter().flat_map(|minute| &minute.groups);
        let counted = groups.map(|group| group.late).fold(0, u64::saturating_add);
        match missing.left_out.saturating_add(missing.lost) {
            0 => 0,
            not_kept => not_kept.max(counted.saturating_sub(self.all())),
        }
    }

    /// Whether no recorder was running. A running one has not yet counted the current minute.
    fn is_not_recorded(&self) -> bool {
        let is_empty = self.recording.minutes.is_empty()
            && self.recording.incidents.is_empty()
            && self.recording.snaps.is_empty();
        is_empty && self.written.last.is_some() && !self.is_yet_to_be_counted()
    }

    fn is_yet_to_be_counted(&self) -> bool {
        let is_after = |last| self.until.is_none_or(|until| until > last);
        self.written.is_recording && self.written.last.is_some_and(is_after)
    }

    /// The text in place of an empty list.
    pub fn nothing(&self) -> &'static str {
        match self.recording.minutes.len() {
            0 if self.is_yet_to_be_counted() => {
                "Nothing was late. All other waits are counted when their minute is over."
            }
            0 => "Nothing was recorded then.",
            _ => "Nothing was late.",
        }
    }

    pub(super) const fn all(&self) -> u64 {
        (self.recording.incidents.len() as u64).saturating_add(self.recording.shorter)
    }

    /// The time range, for a title.
    pub(super) fn when(&self) -> String {
        let first = self.from.or(self.oldest).map(|at| self.local(at));
        let is_all = self.from.is_none() && !self.written.is_recording;
        let last = self.written.last.filter(|_| is_all);
        let until = self.until.or(last).map(|at| self.local(at));
        match (first, until) {
            (Some(from), Some(until)) => format!(" · {from} to {until}"),
            (Some(from), None) => format!(" · since {from}"),
            (None, Some(until)) => format!(" · until {until}"),
            (None, None) => String::new(),
        }
    }

    /// A moment in the report's time zone.
    pub fn local(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// End of an incident in the report's time zone.
    pub fn time(&self, incident: &Incident, format: &str) -> String {
        self.moment(&incident.at, format)
    }

    /// A date and time of the recording in the report's time zone.
    pub fn moment(&self, at: &str, format: &str) -> String {
        let parsed = at.parse::<Timestamp>().map(|at| at.to_zoned(self.zone.clone()));
        parsed.map_or_else(|_| legible(at).into_owned(), |at| at.strftime(format).to_string())
    }

    /// Whether all incidents are of the day in the title, so that their times need no date.
    pub(super) fn is_one_day(&self, incidents: &[Incident]) -> bool {
        let day = "%Y-%m-%d";
        let first =
            self.from.or(self.oldest).map(|at| at.to_zoned(self.zone.clone()).strftime(day).to_string());
        first.is_some_and(|first| incidents.iter().all(|incident| self.time(incident, day) == first))
    }

    /// Caveats, a sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let missing = self.recording.missing();
        let lost = |count_: u64, text: &str| (count_ > 0).then(|| format!("{} {text}", count(count_)));
        let removed = missing.removed.iter().map(|removed| {
            let files = if removed.files == 1 {
                "1 file".to_owned()
            } else {
                format!("{} files", count(removed.files))
            };
            let why = match removed.reason {
                RemovalReason::MaxSize => "reached --max-size",
                RemovalReason::MaxAge => "exceeded --max-age",
                RemovalReason::DiskFull => "filled the disk",
            };
            format!("{files} removed: the recording {why}.")
        });
        let notes = [
            lost(
                missing.left_out,
                "late waits were only counted, as there were too many to keep; some may be longer than those listed.",
            ),
            self.higher_limit(missing.left_out),
            lost(missing.lost, "late waits found no room and are not listed."),
            lost(missing.unseen, "context switches were lost; what had the CPU then is unknown."),
            lost(
                missing.lines,
                "lines could not be written, as the disk refused them: incidents or whole minutes are missing.",
            ),
            lost(missing.turns, "iterations of marked loops were lost or implausible."),
            lost(missing.loops, "marked loops, or programs with them, exceeded the limit."),
            lost(
                missing.snaps,
                "requests by programs to keep a timeline of all CPUs exceeded the limit: only counted.",
            ),
            lost(
                self.cut_off,
                "files end in the middle of a line, as after a crash or while they are written.",
            ),
            self.begins_later(),
            self.unrecorded_in_words(),
            self.ends_earlier(),
        ];
        let damaged = self.damaged.iter().map(|reason| legible(reason).into_owned());
        notes.into_iter().flatten().chain(removed).chain(damaged).collect()
    }

    fn begins_later(&self) -> Option<String> {
        let (from, oldest) = (self.from?, self.oldest?);
        (oldest > from).then(|| format!("The recording begins {}.", self.local(oldest)))
    }

    /// A note where recording stopped before the end of the requested time.
    fn ends_earlier(&self) -> Option<String> {
        let (last, is_limited) = (self.written.last?, self.from.is_some() || self.until.is_some());
        if self.written.is_recording || !is_limited || self.until.is_some_and(|until| until <= last) {
            return None;
        }
        let before = self.from.and_then(|from| u64::try_from(from.duration_since(last).as_nanos()).ok());
        let before = before.filter(|nanos| *nanos > 0).map(|nanos| rough(Span::from_nanos(nanos)));
        let before = before.map_or_else(String::new, |time| format!(", {time} before the time asked for"));
        Some(format!("Last written {}{before}; no recorder is writing now.", self.local(last)))
    }

    /// A limit above which about as many incidents would occur as were kept, where most were not.
    fn higher_limit(&self, left_out: u64) -> Option<String> {
        if left_out <= self.all() {
            return None;
        }
        let mut all = Distribution::default();
        self.recording
            .minutes
            .iter()
            .flat_map(|minute| &minute.groups)
            .for_each(|group| all.merge(&group.waits));
        let kept_share = self.all() as f64 / all.count().max(1) as f64;
        let above =
            percentile(&all, (1.0 - kept_share).max(0.0)).map(|at| round_up(at.as_nanos().unsigned_abs()));
        let above = above.filter(|above| self.late_above.is_some_and(|now| *above > now.least()));
        Some(match above {
            Some(above) => format!(
                "To have all of the longest, record with a higher limit: `--late-above {}ms` would keep about as many.",
                above.as_nanos() / 1_000_000
            ),
            None => "To have all of the longest, record with a higher limit: `--late-above`.".to_owned(),
        })
    }
}

/// Number of incidents, and of late waits in all if not all were kept.
pub(super) fn counted(kept: u64, not_kept: u64) -> String {
    match not_kept {
        0 => incidents(kept),
        more => format!("{} of about {}", count(kept), incidents(kept.saturating_add(more))),
    }
}

fn incidents(number: u64) -> String {
    if number == 1 { "1 incident".to_owned() } else { format!("{} incidents", count(number)) }
}

/// Rounded up to 1, 2, 5, 10, … milliseconds.
fn round_up(nanos: u64) -> Span {
    let mut step = 1_000_000_u64;
    for halves in [4, 5, 4].into_iter().cycle().take(18) {
        if step >= nanos {
            break;
        }
        step = step * halves / 2;
    }
    Span::from_nanos(step)
}
