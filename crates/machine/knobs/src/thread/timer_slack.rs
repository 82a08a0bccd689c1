//! How much later than asked the kernel may end the sleep of an ordinary thread.
//!
//! Source: `PR_SET_TIMERSLACK(2const)`.

use howlate_model::{SettingScope, Span, TIMER_SLACK_CODE};
use howlate_procfs::Root;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

/// Where that of this process stands, in nanoseconds.
pub const FILE: &str = "/proc/self/timerslack_ns";

pub(crate) const KNOB: Knob = Knob {
    name: "timer_slack",
    scope: SettingScope::Thread,
    what: "the least timer slack, so that sleeps are not grouped",
    cost: "wake-ups are no longer grouped: a little power",
    look,
    texts: &[
        Text::OfProgram("systemd", "TimerSlackNSec=1ns"),
        Text::OfThread("now", "echo 1 | sudo tee /proc/TID/timerslack_ns"),
        Text::Code(&TIMER_SLACK_CODE.c),
        Text::Code(&TIMER_SLACK_CODE.rust),
        Text::Code(&TIMER_SLACK_CODE.python),
        Text::CodeOfProgram(&TIMER_SLACK_CODE.shell),
    ],
};

fn look(root: &Root) -> Look {
    let least = Span::from_nanos(1);
    match root.read(FILE) {
        Ok(now) if now == "1" => Look::AsWanted(least.to_string()),
        Ok(now) => {
            let now = now.parse().map_or(now, |nanos| Span::from_nanos(nanos).to_string());
            Look::thread(now, least.to_string(), ThreadSetting::Slack(least))
        }
        // It may be asked for by a call where the file is hidden.
        Err(_) => Look::thread("as inherited", least.to_string(), ThreadSetting::Slack(least)),
    }
}
