//! Options of `howlate record`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use glob::Pattern;
use howlate_blackbox::{Action, AtMost, Bounds, Chosen, PolicyName, uid_of};
use howlate_model::Span;

/// Record for weeks what waited too long for a CPU, of the whole machine, and who held it up
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate record\n  \
howlate record --late-above 500us --policy fifo,rr,deadline\n  \
howlate record --unit nginx,postgres --late-above 2ms\n  \
howlate record --late-above 20ms --on-late 'logger -t howlate'\n  \
howlate record --process 'java*' --out /var/lib/howlate --max-size 1G --max-age 30d\n  \
howlate show /var/lib/howlate --at 03:12\n\n\
Needs root, or the capabilities BPF and PERFMON. Ctrl-C or SIGTERM ends it.")]
pub(crate) struct Record {
    /// Record each wait longer than this; all others are only counted
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, default_value = "5ms")]
    pub(crate) late_above: Span,
    /// Only threads of these policies: other, fifo, rr, batch, idle, deadline, ext
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', help_heading = "Whose waits")]
    policy: Vec<PolicyName>,
    /// Only processes or threads with these names; * and ? are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Whose waits")]
    process: Vec<Pattern>,
    /// Only those of these users, by name or number
    #[arg(long, value_name = "USER,…", value_delimiter = ',', value_parser = user, help_heading = "Whose waits", hide_short_help = true)]
    user: Vec<u32>,
    /// Only those in these control groups, or below
    #[arg(long, value_name = "PATH,…", value_delimiter = ',', value_parser = cgroup, help_heading = "Whose waits", hide_short_help = true)]
    cgroup: Vec<String>,
    /// Only those of these units of systemd
    #[arg(long, value_name = "UNIT,…", value_delimiter = ',', help_heading = "Whose waits")]
    unit: Vec<String>,
    /// The folder for the recording; one that has a recording is continued
    #[arg(long, short, value_name = "FOLDER", default_value = "/var/lib/howlate", value_hint = clap::ValueHint::DirPath, help_heading = "What is kept")]
    pub(crate) out: PathBuf,
    /// Remove the oldest files beyond this size
    #[arg(long, value_name = "SIZE", default_value = "1G", help_heading = "What is kept")]
    max_size: ByteSize,
    /// Remove what is older than this, such as `30d`
    #[arg(long, value_name = "LENGTH", value_parser = age, help_heading = "What is kept")]
    max_age: Option<Span>,
    /// Remember so much of what all CPUs did, for timelines and `howlate snap`
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "2s",
        help_heading = "What is kept",
        hide_short_help = true
    )]
    pub(crate) keep: Span,
    /// Keep a timeline of all CPUs for this many of the worst incidents; 0/h for none
    #[arg(
        long,
        value_name = "COUNT/UNIT",
        default_value = "10/h",
        help_heading = "What is kept",
        hide_short_help = true
    )]
    pub(crate) at_most: AtMost,
    /// About each incident: a command, which gets its JSON; signal:PID:USR1; or stop, which ends recording
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_late: Vec<Action>,
    /// End after this time; if left out, with Ctrl-C or SIGTERM
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Show on the whole screen what comes; `?` lists its keys
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) live: bool,
    /// Print errors only
    #[arg(long, short, hide_short_help = true)]
    pub(crate) quiet: bool,
}

impl Record {
    /// Whose waits are kept.
    pub(crate) fn chosen(&self) -> Chosen {
        Chosen {
            process: self.process.clone(),
            uid: self.user.clone(),
            policy: self.policy.clone(),
            cgroup: self.cgroup.clone(),
            unit: self.unit.clone(),
        }
    }

    /// How much is kept.
    pub(crate) const fn bounds(&self) -> Bounds {
        Bounds { size: self.max_size.0, age: self.max_age }
    }
}

fn user(text: &str) -> Result<u32, String> {
    uid_of(text)
        .ok_or_else(|| format!("there is no user `{text}` in /etc/passwd; others are known by number"))
}

fn cgroup(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/');
    is_path.then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is no path of a control group; write it as /proc/PID/cgroup has it, such as `/system.slice`")
    })
}

/// A length of time that may be days or weeks.
fn age(text: &str) -> Result<Span, String> {
    const DAY: u64 = 24 * 60 * 60;
    let days = [("d", DAY), ("w", 7 * DAY)];
    let unit = days.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let whole = unit.and_then(|(number, seconds)| number.trim().parse::<u64>().ok()?.checked_mul(*seconds));
    match whole.filter(|seconds| *seconds < 1 << 33) {
        Some(seconds) => Ok(Span::from_secs(seconds)),
        None => text.parse().map_err(|error: howlate_model::SpanError| error.to_string()),
    }
}

/// A size of files, in bytes.
#[derive(Clone, Copy)]
struct ByteSize(u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
        let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let Some((number, shift)) = unit else {
            return Err(format!("`{text}` has no unit; write a number with K, M, G or T, such as `500M`"));
        };
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        bytes
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no size; write a whole number with its unit, such as `500M`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_have_units() {
        let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
        assert_eq!((bytes("1G"), bytes("64K")), (Ok(1 << 30), Ok(1 << 16)));
        assert!(bytes("500").unwrap_err().contains("has no unit"));
        assert!(bytes("manyM").is_err() && bytes("99999999999T").is_err() && bytes("1.5G").is_err());
        assert_eq!(age("30d"), Ok(Span::from_secs(2_592_000)));
        assert_eq!((age("2w"), age("12h")), (Ok(Span::from_secs(1_209_600)), Ok(Span::from_secs(43_200))));
        assert!(age("30").unwrap_err().contains("has no unit") && age("99999999999d").is_err());
    }
}
