//! Options of `howlate record`.

use std::path::PathBuf;

use clap::Args;
use glob::Pattern;
use howlate_blackbox::{ByteSize, PolicyKind, RotationLimits, ThreadFilter, TimelineQuota, age, uid_of};
use howlate_model::{LateThreshold, Span};
use howlate_session::{Keep, LateAction};

use super::StartAt;

/// Record for weeks what ran late on the whole machine, and what held it up
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate record\n  \
howlate record --late-above 500us --only-policy fifo,rr,deadline\n  \
howlate record --unit nginx,postgres --late-above p99.9\n  \
howlate record --requests nginx,redis-server\n  \
howlate record --late-above 20ms --on-late 'logger -t howlate'\n  \
howlate record --process 'java*' --max-size 1G --max-age 30d\n  \
howlate show /var/lib/howlate --at 03:12\n\n\
Needs root, or the capabilities BPF and PERFMON. Ctrl-C or SIGTERM ends it.")]
pub struct RecordArgs {
    /// Record delays above this, such as 5ms, or p99.9 of the last hour; count all others
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, default_value = "5ms")]
    pub late_above: LateThreshold,
    /// Record each event loop that is away from its events for longer than this
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "100ms",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub loop_above: Span,
    /// Only threads of these policies: other, fifo, rr, batch, idle, deadline, ext
    #[arg(
        long,
        alias = "policy",
        value_name = "POLICY,…",
        value_delimiter = ',',
        help_heading = "Whose waits"
    )]
    only_policy: Vec<PolicyKind>,
    /// Only processes or threads with these names; * and ? are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Whose waits")]
    process: Vec<Pattern>,
    /// Only those of these users, by name or number
    #[arg(long, value_name = "USER,…", value_delimiter = ',', value_parser = user, help_heading = "Whose waits", hide_short_help = true)]
    user: Vec<u32>,
    /// Only those in these control groups, or below
    #[arg(long, value_name = "PATH,…", value_delimiter = ',', value_parser = cgroup, help_heading = "Whose waits", hide_short_help = true)]
    cgroup: Vec<String>,
    /// Only those of these systemd units
    #[arg(long, value_name = "UNIT,…", value_delimiter = ',', help_heading = "Whose waits")]
    unit: Vec<String>,
    /// How long these servers take to answer, too; by name or id of the process; late answers are recorded
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = server, help_heading = "Whose waits")]
    pub requests: Vec<String>,
    /// The folder for the recording; one that has a recording is continued
    #[arg(long, short, value_name = "FOLDER", default_value = "/var/lib/howlate", value_hint = clap::ValueHint::DirPath, help_heading = "What is kept")]
    pub out: PathBuf,
    /// Remove the oldest files beyond this size
    #[arg(long, value_name = "SIZE", default_value = "1G", help_heading = "What is kept")]
    max_size: ByteSize,
    /// Remove what is older than this, such as `30d`
    #[arg(long, value_name = "LENGTH", value_parser = age, help_heading = "What is kept")]
    max_age: Option<Span>,
    /// How much of what all CPUs did to keep for timelines and `howlate snap`
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "2s",
        value_parser = Keep::length,
        help_heading = "What is kept",
        hide_short_help = true
    )]
    pub keep: Span,
    /// Keep a timeline of all CPUs for this many of the worst incidents; 0/h for none
    #[arg(
        long,
        alias = "at-most",
        value_name = "COUNT/UNIT",
        default_value = "10/h",
        help_heading = "What is kept",
        hide_short_help = true
    )]
    pub timelines: TimelineQuota,
    /// About each incident: a command, which gets its JSON; signal:PID:USR1; or stop, which ends recording
    #[arg(long, value_name = "COMMAND")]
    pub on_late: Vec<LateAction>,
    /// Print a systemd unit that records with these options; with --yes, write it
    #[arg(long, conflicts_with_all = ["live", "duration"], help_heading = "As a service", hide_short_help = true)]
    pub install: bool,
    /// Write the unit rather than print it
    #[arg(long, requires = "install", help_heading = "As a service", hide_short_help = true)]
    pub yes: bool,
    /// Begin at the next whole multiple of this length by the wall clock, such as /10s: several machines at the same time
    #[arg(long, value_name = "BOUNDARY", hide_short_help = true)]
    pub start_at: Option<StartAt>,
    /// End after this time [default: with Ctrl-C or SIGTERM]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Show incidents on the whole screen; `?` lists its keys
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// Print errors only
    #[arg(long, short, hide_short_help = true)]
    pub quiet: bool,
}

impl RecordArgs {
    /// Whose waits are kept.
    pub fn filter(&self) -> ThreadFilter {
        ThreadFilter {
            process: self.process.clone(),
            uid: self.user.clone(),
            policy: self.only_policy.clone(),
            cgroup: self.cgroup.clone(),
            unit: self.unit.clone(),
        }
    }

    /// Limits of the recording's size and age.
    pub const fn bounds(&self) -> RotationLimits {
        RotationLimits { size: self.max_size.bytes(), age: self.max_age }
    }
}

fn user(text: &str) -> Result<u32, String> {
    uid_of(text)
        .ok_or_else(|| format!("there is no user `{text}` in /etc/passwd; others are known by number"))
}

fn server(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty();
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "write the name or id of a process, such as `nginx`".to_owned())
}

fn cgroup(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/');
    is_path.then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is no path of a control group; write it as /proc/PID/cgroup has it, such as `/system.slice`")
    })
}
